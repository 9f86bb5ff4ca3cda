#pragma once
// The functions of NCCL and of CUDA's runtime that DBench uses, as tables of functions. The tables
// are filled from the machine's libraries at run time, or by a stand-in
// (tests/comm/nccl_stand_in.hpp). DBench links neither library and reads none of their headers, so
// every build contains the code that uses the tables.
//
// Names and numbers are those of nccl.h, unchanged from 2.14 to 2.28, and of CUDA's runtime 12 and
// 13. A build with CUDA compares them with the headers (nccl_api.cpp).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arena/device/queue.hpp"

namespace dbench::comm {

// Opaque targets of ncclComm_t, cudaStream_t and cudaEvent_t.
struct NcclCommunicator;
struct CudaStream;
struct CudaEvent;

/// ncclUniqueId: names a communicator to the ranks that join it.
struct NcclId {
    char bytes[128];
};

/// ncclResult_t: the values that DBench distinguishes. All other values are errors, too.
enum class NcclResult : int { success = 0, system_error = 2, invalid_usage = 5, in_progress = 7 };
enum class NcclType : int { int8 = 0, float32 = 7, float64 = 8 };  ///< ncclDataType_t
enum class NcclSum : int { sum = 0 };                              ///< ncclRedOp_t

/// ncclConfig_t of version 2.14, the first with non-blocking communicators. Later versions append
/// members and use their defaults for a config of this version.
struct NcclConfig {
    size_t size = sizeof(NcclConfig);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
};

/// Functions of NCCL, named without "nccl" and "Comm".
struct NcclApi {
    std::function<NcclResult(int* version)> get_version;
    std::function<NcclResult(NcclId* id)> get_unique_id;
    std::function<NcclResult(NcclCommunicator** communicator, int ranks, NcclId id, int rank,
                             NcclConfig* config)>
        init_rank;
    std::function<NcclResult()> group_start, group_end;
    std::function<NcclResult(const void* from, size_t count, NcclType type, int peer,
                             NcclCommunicator* communicator, CudaStream* stream)>
        send;
    std::function<NcclResult(void* to, size_t count, NcclType type, int peer,
                             NcclCommunicator* communicator, CudaStream* stream)>
        recv;
    std::function<NcclResult(const void* from, void* to, size_t count, NcclType type, NcclSum sum,
                             NcclCommunicator* communicator, CudaStream* stream)>
        all_reduce;
    std::function<NcclResult(NcclCommunicator* communicator, NcclResult* state)> async_error;
    std::function<NcclResult(NcclCommunicator*)> finalize, destroy, abort;
    std::function<const char*(NcclResult result)> error_string;
    std::function<const char*(NcclCommunicator* communicator)> last_error;
};

/// cudaError_t: the values that DBench distinguishes.
enum class CudaResult : int { success = 0, not_ready = 600 };
inline constexpr unsigned kStreamNonBlocking = 1;   ///< The stream runs concurrently with stream 0.
inline constexpr unsigned kEventDisableTiming = 2;  ///< The event is only queried for completion.

/// Functions of CUDA's runtime, named without "cuda" and "Device".
struct CudaApi {
    std::function<CudaResult(int device)> set_device;
    std::function<CudaResult(char* text, int length, int device)> pci_bus_id;
    std::function<CudaResult(int* least, int* greatest)> stream_priority_range;
    std::function<CudaResult(CudaStream** stream, unsigned flags, int priority)> stream_create;
    std::function<CudaResult(CudaStream* stream)> stream_destroy;
    std::function<CudaResult(CudaEvent** event, unsigned flags)> event_create;
    std::function<CudaResult(CudaEvent* event, CudaStream* stream)> event_record;
    std::function<CudaResult(CudaEvent*)> event_query, event_destroy;
    /// Returns this thread's last error and clears it.
    std::function<CudaResult()> get_last_error;
    std::function<const char*(CudaResult result)> error_string;
};

/// Loads the first of `files` that the loader finds and returns its functions. The library remains
/// loaded. Throws UserError if no file can be loaded or a function is missing.
NcclApi load_nccl(const std::vector<std::string>& files = {"libnccl.so.2"});
/// Does the same for CUDA's runtime.
CudaApi load_cuda(const std::vector<std::string>& files = {"libcudart.so.13", "libcudart.so.12"});

/// Returns "2.28.9". Throws RunError if NCCL does not report its version.
std::string version_text(const NcclApi& nccl);

/// The libraries and the queue that join_nccl uses; tests pass stand-ins.
struct NcclParts {
    NcclApi nccl;
    CudaApi cuda;
    /// Makes the queue that launches kernels on a stream.
    std::function<std::unique_ptr<arena::Queue>(CudaStream* stream)> queue;
};

}  // namespace dbench::comm
