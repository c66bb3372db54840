/* A CUDA runtime without a GPU: device memory is host memory, and a launch is a line of a log.

   Programs are linked with it in place of NVIDIA's. No kernel is run: what a program computes is
   wrong, but which kernels it launches and with which shapes is what its host code says, as long as
   that does not hang on results. Every other function of the runtime is weak and returns success
   (`runtime.py` writes them). Each launch that differs from those before is one line of the file
   that `LAUNCHES_LOG` names: mangled name, grid, block, bytes of dynamic shared memory.  */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __CUDA_RUNTIME_API_VERSION 13000
#include <cuda_runtime_api.h>

enum { MAX_KERNELS = 1 << 16, MAX_LAUNCHES = 1 << 16, MAX_BYTES = 1 << 30, MAX_NESTED = 16 };

static struct { const void *stub; const char *name; } kernels[MAX_KERNELS];
static int kernel_count;
static uint64_t seen[MAX_LAUNCHES];
static struct { dim3 grid, block; size_t shared; cudaStream_t stream; } pending[MAX_NESTED];
static int pending_count;

static cudaError_t allocate(void **at, size_t size) {
  *at = size <= MAX_BYTES ? calloc(size + 256, 1) : NULL;
  return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}

static const char *name_of(const void *stub) {
  for (int i = kernel_count; i-- > 0;)
    if (kernels[i].stub == stub) return kernels[i].name;
  return "?";
}

static int is_new(const char *text) {
  uint64_t hash = 1469598103934665603u;
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  for (uint64_t i = 0; i < MAX_LAUNCHES; i++) {
    uint64_t *slot = &seen[(hash + i) % MAX_LAUNCHES];
    if (*slot == hash) return 0;
    if (*slot == 0) { *slot = hash; return 1; }
  }
  return 0;
}

static cudaError_t note(const void *stub, dim3 grid, dim3 block, size_t shared) {
  char line[8192];
  const char *path = getenv("LAUNCHES_LOG");
  snprintf(line, sizeof line, "%s %u,%u,%u %u,%u,%u %zu\n", name_of(stub), grid.x, grid.y, grid.z,
           block.x, block.y, block.z, shared);
  FILE *log = path && is_new(line) ? fopen(path, "a") : NULL;
  if (log) { fputs(line, log); fclose(log); }
  return cudaSuccess;
}

/* ---- what nvcc makes of kernels and launches */

void **__cudaRegisterFatBinary(void *fat) { static void *handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
char __cudaInitModule(void **handle) { return 1; }
void __cudaRegisterVar(void **h, char *var, char *at, const char *name, int e, size_t n, int c, int g) {}
void __cudaRegisterManagedVar(void **h, void **var, char *at, const char *name, int e, size_t n, int c, int g) {
  allocate(var, n);
}
void __cudaRegisterFunction(void **h, const char *stub, char *fun, const char *name, int limit,
                            uint3 *t, uint3 *b, dim3 *bd, dim3 *gd, int *w) {
  if (kernel_count < MAX_KERNELS) {
    kernels[kernel_count].stub = stub;
    kernels[kernel_count++].name = name;
  }
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  if (pending_count == MAX_NESTED) return 1;
  pending[pending_count].grid = grid;
  pending[pending_count].block = block;
  pending[pending_count].shared = shared;
  pending[pending_count++].stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (pending_count == 0) return cudaErrorInvalidConfiguration;
  *grid = pending[--pending_count].grid;
  *block = pending[pending_count].block;
  *shared = pending[pending_count].shared;
  *(cudaStream_t *)stream = pending[pending_count].stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub) {
  *kernel = (cudaKernel_t)stub;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **args, size_t n, cudaStream_t s) {
  return note(k, g, b, n);
}
cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **args, size_t n, cudaStream_t s) {
  return note(f, g, b, n);
}
cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **a, size_t n, cudaStream_t s) {
  return note(f, g, b, n);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **args) {
  return note(f, c->gridDim, c->blockDim, c->dynamicSmemBytes);
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *d,
                                   size_t n, const struct cudaKernelNodeParams *p) {
  *node = (cudaGraphNode_t)1;
  return note(p->func, p->gridDim, p->blockDim, p->sharedMemBytes);
}

/* ---- memory */

cudaError_t cudaMalloc(void **at, size_t n) { return allocate(at, n); }
cudaError_t cudaMallocHost(void **at, size_t n) { return allocate(at, n); }
cudaError_t cudaHostAlloc(void **at, size_t n, unsigned flags) { return allocate(at, n); }
cudaError_t cudaMallocManaged(void **at, size_t n, unsigned flags) { return allocate(at, n); }
cudaError_t cudaMallocAsync(void **at, size_t n, cudaStream_t s) { return allocate(at, n); }
cudaError_t cudaMallocPitch(void **at, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(at, *pitch * height);
}
cudaError_t cudaMallocArray(cudaArray_t *at, const struct cudaChannelFormatDesc *d, size_t w, size_t h, unsigned f) {
  return allocate((void **)at, w * (h ? h : 1) * 16);
}
cudaError_t cudaMalloc3DArray(cudaArray_t *at, const struct cudaChannelFormatDesc *d, struct cudaExtent e, unsigned f) {
  return allocate((void **)at, e.width * (e.height ? e.height : 1) * (e.depth ? e.depth : 1) * 16);
}
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent e) {
  p->pitch = p->xsize = e.width;
  p->ysize = e.height;
  return allocate(&p->ptr, e.width * e.height * e.depth);
}
cudaError_t cudaHostGetDevicePointer(void **at, void *host, unsigned flags) {
  *at = host;
  return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void **at, const void *symbol) { return allocate(at, 1 << 20); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind) {
  if (to && from) memmove(to, from, n);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s) {
  return cudaMemcpy(to, from, n, kind);
}
cudaError_t cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, enum cudaMemcpyKind k) {
  for (size_t y = 0; y < h; y++) memmove((char *)to + y * tp, (const char *)from + y * fp, w);
  return cudaSuccess;
}
cudaError_t cudaMemset(void *at, int value, size_t n) {
  if (at) memset(at, value, n);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) {
  *unused = *total = (size_t)80 << 30;
  return cudaSuccess;
}

/* ---- the device: an H100 */

cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { *version = 13000; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = 13000; return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
  memset(p, 0, sizeof *p);
  strcpy(p->name, "NVIDIA H100");
  p->major = 9;
  p->warpSize = 32;
  p->multiProcessorCount = 132;
  p->totalGlobalMem = (size_t)80 << 30;
  p->totalConstMem = 65536;
  p->sharedMemPerBlock = 49152;
  p->sharedMemPerBlockOptin = 232448;
  p->sharedMemPerMultiprocessor = 233472;
  p->reservedSharedMemPerBlock = 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->l2CacheSize = 52428800;
  p->memoryBusWidth = 5120;
  p->asyncEngineCount = 3;
  p->concurrentKernels = p->cooperativeLaunch = p->managedMemory = p->unifiedAddressing = 1;
  p->canMapHostMemory = p->concurrentManagedAccess = p->memoryPoolsSupported = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 232448; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMultiProcessorCount: *value = 132; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrClockRate: *value = 1980000; break;
    case cudaDevAttrMemoryClockRate: *value = 2619000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 5120; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    default: *value = 1;
  }
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f, int threads, size_t n) {
  *blocks = threads > 0 && threads <= 1024 ? 2048 / ((threads + 31) / 32 * 32) : 0;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *f, int threads, size_t n, unsigned flags) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, n);
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f) {
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = 1024;
  a->maxDynamicSharedSizeBytes = 49152;
  a->numRegs = 32;
  a->binaryVersion = a->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end) { *ms = 1; return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t e) { return "error"; }
const char *cudaGetErrorName(cudaError_t e) { return "error"; }
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind k) {
  struct cudaChannelFormatDesc found = {x, y, z, w, k};
  return found;
}
