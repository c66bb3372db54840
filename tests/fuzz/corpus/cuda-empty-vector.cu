__global__ void empty_vector(float *out) {
    __shared__ float data[1024];
    int tid = threadIdx.x;
    asm volatile("mov.b32 {}, %0;" :: "r"(tid));
    out[tid] = data[tid];
}
