// Stand-ins for the functions of cuBLAS and cuDNN that LibTorch calls for the models of this
// program. They are operations on the handle's stream that leave memory unchanged. The loader finds
// them before the real libraries, which require a GPU.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime.hpp"

using namespace stand_in;

namespace {

/// A handle or a descriptor.
struct Handle {
    cudaStream_t stream = nullptr;
    int64_t inputs = 0, hidden = 0, element = 0;  // For an LSTM.
    std::vector<int> shape = {};                  // For a tensor.
};

// Works for both libraries: success is 0.
int work_libraries(void* handle, const char* call) {
    return cudaLaunchKernel(call, 1, 32, nullptr, 0, static_cast<Handle*>(handle)->stream) ==
                   cudaSuccess
               ? 0
               : 14;  // CUBLAS_STATUS_INTERNAL_ERROR
}

struct Register {
    explicit Register(const char* call);
};

}  // namespace

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                       dim3*, dim3*, int*);

Register::Register(const char* call) {
    __cudaRegisterFunction(nullptr, call, nullptr, call, 0, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
}

// The first parameter is a handle; further parameters are ignored.
#define WORK(name)                                   \
    static const char name##_call[] = #name;         \
    static const Register name##_known(name##_call); \
    extern "C" int name(void* handle) { return work_libraries(handle, name##_call); }
// The first parameter receives the new object.
#define CREATE(name)                   \
    extern "C" int name(void** made) { \
        *made = new Handle;            \
        return 0;                      \
    }
#define DESTROY(name)                      \
    extern "C" int name(void* made) {      \
        delete static_cast<Handle*>(made); \
        return 0;                          \
    }
#define SUCCEED(name) \
    extern "C" int name() { return 0; }
#define SET_STREAM(name)                                     \
    extern "C" int name(void* handle, cudaStream_t stream) { \
        static_cast<Handle*>(handle)->stream = stream;       \
        return 0;                                            \
    }

CREATE(cublasCreate_v2)
DESTROY(cublasDestroy_v2)
SET_STREAM(cublasSetStream_v2)
SUCCEED(cublasSetWorkspace_v2)
SUCCEED(cublasSetMathMode)
SUCCEED(cublasSetPointerMode_v2)
extern "C" int cublasGetMathMode(void*, int* mode) { return *mode = 0; }
extern "C" int cublasGetPointerMode_v2(void*, int* mode) { return *mode = 0; }
extern "C" int cublasGetVersion_v2(void*, int* version) {
    *version = 130000;
    return 0;
}
WORK(cublasSgemm_v2)
WORK(cublasDgemm_v2)
WORK(cublasSgemv_v2)
WORK(cublasDgemv_v2)
WORK(cublasSdot_v2)
WORK(cublasDdot_v2)
WORK(cublasDotEx)
WORK(cublasSgemmEx)
WORK(cublasGemmEx)
WORK(cublasSgemmStridedBatched)
WORK(cublasDgemmStridedBatched)
WORK(cublasGemmStridedBatchedEx)

CREATE(cublasLtMatmulDescCreate)
CREATE(cublasLtMatrixLayoutCreate)
CREATE(cublasLtMatmulPreferenceCreate)
DESTROY(cublasLtMatmulDescDestroy)
DESTROY(cublasLtMatrixLayoutDestroy)
DESTROY(cublasLtMatmulPreferenceDestroy)
SUCCEED(cublasLtMatmulDescSetAttribute)
SUCCEED(cublasLtMatrixLayoutSetAttribute)
SUCCEED(cublasLtMatmulPreferenceSetAttribute)
extern "C" size_t cublasLtGetVersion() { return 130000; }
extern "C" int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int,
                                              void* found, int* count) {
    std::memset(found, 0, 64);
    *count = 1;
    return 0;
}
static const char kMatmul[] = "cublasLtMatmul";
static const Register kMatmulKnown(kMatmul);
extern "C" int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*,
                              const void*, const void*, void*, void*, void*, const void*, void*,
                              size_t, cudaStream_t stream) {
    Handle on;
    on.stream = stream;
    return work_libraries(&on, kMatmul);
}

CREATE(cudnnCreate)
DESTROY(cudnnDestroy)
SET_STREAM(cudnnSetStream)
extern "C" int cudnnGetStream(void* handle, cudaStream_t* stream) {
    *stream = static_cast<Handle*>(handle)->stream;
    return 0;
}
extern "C" const char* cudnnGetErrorString(int) { return "an error of the stand-in"; }
extern "C" size_t cudnnGetVersion() { return 91900; }
extern "C" size_t cudnnGetCudartVersion() { return 13000; }
extern "C" void cudnnGetLastErrorString(char* text, size_t) { *text = 0; }
SUCCEED(cudnnSetTensorNdDescriptor)
SUCCEED(cudnnSetFilterNdDescriptor)
SUCCEED(cudnnSetConvolutionNdDescriptor)
SUCCEED(cudnnSetConvolutionGroupCount)
SUCCEED(cudnnSetConvolutionMathType)
SUCCEED(cudnnSetActivationDescriptor)
CREATE(cudnnCreateTensorDescriptor)
CREATE(cudnnCreateFilterDescriptor)
CREATE(cudnnCreateConvolutionDescriptor)
CREATE(cudnnCreateActivationDescriptor)
DESTROY(cudnnDestroyTensorDescriptor)
DESTROY(cudnnDestroyFilterDescriptor)
DESTROY(cudnnDestroyConvolutionDescriptor)
DESTROY(cudnnDestroyActivationDescriptor)
extern "C" int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*,
                                                                        void*, void*, void*, void*,
                                                                        size_t* bytes) {
    *bytes = 512;
    return 0;
}
extern "C" int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*,
                                                                 void*, void*, void*, void*, void*,
                                                                 size_t* bytes) {
    *bytes = 512;
    return 0;
}
extern "C" int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*,
                                                                    size_t* bytes) {
    *bytes = 512;
    return 0;
}
WORK(cudnnBatchNormalizationForwardTrainingEx)
WORK(cudnnBatchNormalizationBackwardEx)
WORK(cudnnBatchNormalizationForwardInference)

// The graph API of operations, which LibTorch uses for convolutions.
extern "C" int cudnnBackendCreateDescriptor(int, void** made) { return cudnnCreate(made); }
extern "C" int cudnnBackendDestroyDescriptor(void* made) { return cudnnDestroy(made); }
SUCCEED(cudnnBackendSetAttribute)
SUCCEED(cudnnBackendFinalize)
extern "C" int cudnnBackendGetAttribute(void*, int, int type, int64_t room, int64_t* count,
                                        void* values) {
    constexpr int kInt64 = 3, kDescriptor = 15;
    if (count) *count = type == kInt64 || type == kDescriptor ? 1 : 0;  // One engine without notes.
    if (values && type != kDescriptor && room > 0) {
        std::memset(values, 0, type == kInt64 ? sizeof(int64_t) : sizeof(int));
    }
    return 0;
}
WORK(cudnnBackendExecute)

// LSTMs of one layer. The weights are stored as W_i, W_f, W_g, W_o, U_i, ... U_o, followed by the
// biases in the same order.
CREATE(cudnnCreateRNNDescriptor)
CREATE(cudnnCreateRNNDataDescriptor)
CREATE(cudnnCreateDropoutDescriptor)
DESTROY(cudnnDestroyRNNDescriptor)
DESTROY(cudnnDestroyRNNDataDescriptor)
DESTROY(cudnnDestroyDropoutDescriptor)
SUCCEED(cudnnSetRNNDataDescriptor)
SUCCEED(cudnnSetDropoutDescriptor)
SUCCEED(cudnnRestoreDropoutDescriptor)
WORK(cudnnRNNForward)
WORK(cudnnRNNBackwardData_v8)
WORK(cudnnRNNBackwardWeights_v8)

extern "C" int cudnnDropoutGetStatesSize(void*, size_t* bytes) {
    *bytes = 512;
    return 0;
}
extern "C" int cudnnSetRNNDescriptor_v8(void* lstm, int, int, int, int, int, int type, int, int,
                                        int inputs, int hidden, int, int layers, void*, unsigned) {
    constexpr int kDouble = 1, kFloat = 0;
    auto* const made = static_cast<Handle*>(lstm);
    made->inputs = inputs;
    made->hidden = hidden;
    made->element = type == kFloat ? 4 : type == kDouble ? 8 : 2;
    return layers == 1 ? 0 : 3;
}
extern "C" int cudnnGetRNNWeightSpaceSize(void*, void* lstm, size_t* bytes) {
    const auto& of = *static_cast<Handle*>(lstm);
    *bytes = static_cast<size_t>(4 * of.hidden * (of.inputs + of.hidden + 2) * of.element);
    return 0;
}
extern "C" int cudnnGetRNNTempSpaceSizes(void*, void*, int, void*, size_t* workspace,
                                         size_t* reserve) {
    if (workspace) *workspace = 512;
    if (reserve) *reserve = 512;
    return 0;
}
extern "C" int cudnnGetRNNWeightParams(void*, void* lstm, int, size_t, char* space, int which,
                                       void* matrix, char** matrix_at, void* bias, char** bias_at) {
    const auto& of = *static_cast<Handle*>(lstm);
    const int64_t columns = which < 4 ? of.inputs : of.hidden;
    const int64_t before = which < 4
                               ? which * of.hidden * of.inputs
                               : 4 * of.hidden * of.inputs + (which - 4) * of.hidden * of.hidden;
    const int64_t matrices = 4 * of.hidden * (of.inputs + of.hidden);
    const auto tell = [space, &of](void* tensor, char** at, int64_t offset, int64_t width) {
        if (at) *at = space + offset * of.element;
        if (!tensor) return;
        static_cast<Handle*>(tensor)->shape = {1, static_cast<int>(of.hidden),
                                               static_cast<int>(width)};
    };
    tell(matrix, matrix_at, before, columns);
    tell(bias, bias_at, matrices + which * of.hidden, 1);
    return 0;
}
extern "C" int cudnnGetTensorNdDescriptor(void* tensor, int room, int* type, int* count, int* sizes,
                                          int* strides) {
    const std::vector<int>& shape = static_cast<Handle*>(tensor)->shape;
    *type = 0;
    *count = static_cast<int>(shape.size());
    int stride = 1;
    for (int k = *count - 1; k >= 0; --k) {
        if (k < room) {
            sizes[k] = shape[static_cast<size_t>(k)];
            strides[k] = stride;
        }
        stride *= shape[static_cast<size_t>(k)];
    }
    return 0;
}
extern "C" int cudnnGetFilterNdDescriptor(void* filter, int room, int* type, int* format,
                                          int* count, int* sizes) {
    int strides[8];
    *format = 0;
    return cudnnGetTensorNdDescriptor(filter, std::min(room, 8), type, count, sizes, strides);
}
