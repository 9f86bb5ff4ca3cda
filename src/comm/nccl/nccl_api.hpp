#pragma once
// What NCCL and CUDA's runtime are asked for, as tables of functions: filled from the libraries
// where a machine has them, or by a stand-in (tests/comm/nccl_stand_in.hpp). Nothing is linked and
// no header of theirs is read, so every build has what is written against the tables.
//
// Names and numbers are those of nccl.h, which has kept them from 2.14 to 2.28, and of CUDA's
// runtime 12 and 13. A build with CUDA compares them with the headers (nccl_api.cpp).

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dbench::comm {

// What an ncclComm_t, a cudaStream_t and a cudaEvent_t point to; opaque.
struct NcclCommunicator;
struct CudaStream;
struct CudaEvent;

/// ncclUniqueId: names a communicator to those who join it.
struct NcclId {
    char bytes[128];
};

/// ncclResult_t as far as it is told apart; all other numbers are errors, too.
enum class NcclResult : int { success = 0, system_error = 2, invalid_usage = 5, in_progress = 7 };
enum class NcclType : int { int8 = 0, float32 = 7, float64 = 8 };  ///< ncclDataType_t
enum class NcclSum : int { sum = 0 };                              ///< ncclRedOp_t

/// ncclConfig_t as it was in 2.14, the first with communicators that do not block. Later versions
/// have more members behind these, and take the standard ones for a config of this age.
struct NcclConfig {
    size_t size = sizeof(NcclConfig);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
};

/// NCCL's functions, by their names less "nccl" and "Comm".
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

/// cudaError_t as far as it is told apart.
enum class CudaResult : int { success = 0, not_ready = 600 };
inline constexpr unsigned kStreamNonBlocking = 1;   ///< beside the stream 0
inline constexpr unsigned kEventDisableTiming = 2;  ///< events that are only asked for

/// Functions of CUDA's runtime, by their names less "cuda" and "Device".
struct CudaApi {
    std::function<CudaResult(int device)> set_device;
    std::function<CudaResult(char* text, int length, int device)> pci_bus_id;
    std::function<CudaResult(int* least, int* greatest)> stream_priority_range;
    std::function<CudaResult(CudaStream** stream, unsigned flags, int priority)> stream_create;
    std::function<CudaResult(CudaStream* stream)> stream_destroy;
    std::function<CudaResult(CudaEvent** event, unsigned flags)> event_create;
    std::function<CudaResult(CudaEvent* event, CudaStream* stream)> event_record;
    std::function<CudaResult(CudaEvent*)> event_query, event_destroy;
    std::function<CudaResult()> get_last_error;  ///< of this thread; forgets it
    std::function<const char*(CudaResult result)> error_string;
};

/// The tables of this machine's libraries, which stay loaded: the first of `files` that the loader
/// finds. Throws UserError where there is none, or where it lacks a function.
NcclApi load_nccl(const std::vector<std::string>& files = {"libnccl.so.2"});
CudaApi load_cuda(const std::vector<std::string>& files = {"libcudart.so.13", "libcudart.so.12"});

/// "2.28.9". Throws RunError.
std::string version_text(const NcclApi& nccl);

}  // namespace dbench::comm
