// smemlint: launch(threads=32)  //~ SML903 `launch` names no block: write launch(block=(32, 8))
__global__ void copy(float *out) {
  __shared__ float s[32];
  s[threadIdx.x] = out[threadIdx.x];  // smemlint: ignore[bank-conflit]  //~ SML903 `bank-conflit` is not a rule: did you mean `bank-conflict`?
  out[threadIdx.x] = s[threadIdx.x];
}

void run(float *out) { copy<<<1, 32>>>(out); }
