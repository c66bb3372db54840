__global__ void k(float *out) {
  __shared__ float s[32];
  s[0xc4d4c67757e76476] = out[threadIdx.x];
  s[73786976294838206465] = 0;
}
