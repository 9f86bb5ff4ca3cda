#include "comm/nccl/nccl_api.hpp"

#include <dlfcn.h>

#include "base/error.hpp"

#if DBENCH_NCCL
#include <cuda_runtime_api.h>
#include <nccl.h>
#endif

namespace dbench::comm {
namespace {

#if DBENCH_NCCL
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId) && sizeof(NcclResult) == sizeof(ncclResult_t));
static_assert(static_cast<int>(NcclResult::success) == ncclSuccess &&
              static_cast<int>(NcclResult::system_error) == ncclSystemError &&
              static_cast<int>(NcclResult::invalid_usage) == ncclInvalidUsage &&
              static_cast<int>(NcclResult::in_progress) == ncclInProgress);
static_assert(static_cast<int>(NcclType::int8) == ncclInt8 &&
              static_cast<int>(NcclType::float32) == ncclFloat32 &&
              static_cast<int>(NcclType::float64) == ncclFloat64 &&
              static_cast<int>(NcclSum::sum) == ncclSum);
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(static_cast<int>(CudaResult::success) == cudaSuccess &&
              static_cast<int>(CudaResult::not_ready) == cudaErrorNotReady &&
              kStreamNonBlocking == cudaStreamNonBlocking &&
              kEventDisableTiming == cudaEventDisableTiming);
#endif

/// A library that remains loaded: its threads may outlive the objects that use it.
class SharedLibrary {
public:
    SharedLibrary(std::string name, const std::vector<std::string>& files)
        : name_(std::move(name)) {
        // Prefer a library that the process has loaded.
        for (const int already : {RTLD_NOLOAD, 0}) {
            for (const std::string& file : files) {
                handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | already);
                if (handle_) return;
            }
        }
        const char* const why = dlerror();
        throw base::UserError(name_ + " could not be loaded (" +
                              (why ? why : "the loader does not say why") +
                              "): install it, or name its folder in LD_LIBRARY_PATH");
    }

    template <class Result, class... Arguments>
    void find(std::function<Result(Arguments...)>& function, const char* symbol) const {
        void* const found = dlsym(handle_, symbol);
        if (!found) {
            throw base::UserError(name_ + " has no " + symbol +
                                  " (another library, or an old one): install a newer version");
        }
        function = reinterpret_cast<Result (*)(Arguments...)>(found);
    }

private:
    std::string name_;
    void* handle_ = nullptr;
};

}  // namespace

NcclApi load_nccl(const std::vector<std::string>& files) {
    const SharedLibrary library("NCCL", files);
    NcclApi api;
    library.find(api.get_version, "ncclGetVersion");
    library.find(api.get_unique_id, "ncclGetUniqueId");
    library.find(api.init_rank, "ncclCommInitRankConfig");
    library.find(api.group_start, "ncclGroupStart");
    library.find(api.group_end, "ncclGroupEnd");
    library.find(api.send, "ncclSend");
    library.find(api.recv, "ncclRecv");
    library.find(api.all_reduce, "ncclAllReduce");
    library.find(api.async_error, "ncclCommGetAsyncError");
    library.find(api.finalize, "ncclCommFinalize");
    library.find(api.destroy, "ncclCommDestroy");
    library.find(api.abort, "ncclCommAbort");
    library.find(api.error_string, "ncclGetErrorString");
    library.find(api.last_error, "ncclGetLastError");
    return api;
}

CudaApi load_cuda(const std::vector<std::string>& files) {
    const SharedLibrary library("CUDA's runtime", files);
    CudaApi api;
    library.find(api.set_device, "cudaSetDevice");
    library.find(api.pci_bus_id, "cudaDeviceGetPCIBusId");
    library.find(api.stream_priority_range, "cudaDeviceGetStreamPriorityRange");
    library.find(api.stream_create, "cudaStreamCreateWithPriority");
    library.find(api.stream_destroy, "cudaStreamDestroy");
    library.find(api.event_create, "cudaEventCreateWithFlags");
    library.find(api.event_record, "cudaEventRecord");
    library.find(api.event_query, "cudaEventQuery");
    library.find(api.event_destroy, "cudaEventDestroy");
    library.find(api.get_last_error, "cudaGetLastError");
    library.find(api.error_string, "cudaGetErrorString");
    return api;
}

std::string version_text(const NcclApi& nccl) {
    int version = 0;
    if (nccl.get_version(&version) != NcclResult::success) {
        throw base::RunError("NCCL does not report its version");
    }
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

}  // namespace dbench::comm
