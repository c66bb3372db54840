__global__ void empty_operand(float *out) {
    __shared__ float data[1024];
    asm volatile("eads();");
    out[threadIdx.x] = data[threadIdx.x];
}
