__global__ void copy(float *out) {
  __shared__ float s[32];
  s[threadIdx.x] = out[threadIdx.x];  // smemlint: ignore[bank-conflict] column  //~ SML902 `ignore[bank-conflict]` suppresses nothing
  out[threadIdx.x] = s[threadIdx.x];
}

void launch(float *out) { copy<<<1, 32>>>(out); }
