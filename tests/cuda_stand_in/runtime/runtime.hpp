#pragma once
// A stand-in for CUDA's runtime library (libcudart.so.13): a GPU without hardware, for programs
// that were built for a real one, including LibTorch. It is preloaded before the real library.
//
// The stand-in provides memory, streams, events and graphs; it tracks stream captures; it reports
// work as finished some time after it was requested; and it refuses what CUDA's documentation says
// is refused ("CUDA Runtime API", "CUDA C++ Programming Guide", section CUDA Graphs). Copies and
// fills are executed. Kernels are not executed: they are checked and counted, and leave memory
// unchanged. The host cannot access memory of cudaMalloc: an access ends the process, as with a
// real GPU.
//
// Environment:
//   DBENCH_STAND_IN_CARDS=N      number of GPUs (1)
//   DBENCH_STAND_IN_MEMORY=N     MiB of memory per GPU (65536)
//   DBENCH_STAND_IN_CAPABILITY=N  compute capability of each GPU, for example 75 (90)
//   DBENCH_STAND_IN_REPORT=FILE  writes a line for each refusal, and counts at the end
//   DBENCH_STAND_IN_NAMES=1      also counts launches by the (mangled) names of kernels
//   DBENCH_STAND_IN_REFUSE=CALL  makes this call fail, for example
//                                "cudaGraphInstantiateWithFlags"; breaks running captures
//   DBENCH_STAND_IN_BREAKS=N     makes kernel N and everything after it fail, as after an
//                                illegal address
//   DBENCH_STAND_IN_TRACE=WHAT   prints a stack trace at each refusal ("refusals") or each call
//                                that makes the host wait ("waits")

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace stand_in {

/// The operations of a captured stream. Each node comes after the nodes in `after`.
struct Graph {
    struct Node {
        std::vector<size_t> after;
        std::function<void(double)> repeat;  ///< Called when the graph is launched; null if there
                                             ///< is nothing to do.
    };
    std::vector<Node> nodes;
};

/// A stream capture in progress.
struct Capture {
    uint64_t id;
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    std::shared_ptr<Graph> graph;
    std::map<cudaStream_t, std::set<size_t>> tips;  ///< The last nodes of each stream that takes
                                                    ///< part.
    std::string broken;  ///< The call that broke the capture; empty if none did.
};

struct Stream {
    int device = 0;
    unsigned flags = 0;
    double busy_until = 0;  ///< Seconds on the steady clock.
    std::shared_ptr<Capture> capture = nullptr;
};

struct Event {
    int device = 0;
    unsigned flags = 0;
    bool recorded = false;
    double time = 0;  ///< Time at which it passes, in seconds on the steady clock.
    std::weak_ptr<Capture> capture = {};
    std::set<size_t> tips = {};  ///< The last nodes at the point where it was recorded in a
                                 ///< capture.
    bool captured = false;
};

/// The whole state. Access requires the mutex.
struct Runtime {
    std::recursive_mutex mutex;
    std::map<cudaStream_t, std::unique_ptr<Stream>> streams;
    std::map<cudaEvent_t, std::unique_ptr<Event>> events;
    std::set<std::shared_ptr<Capture>> captures;
    std::map<void*, std::shared_ptr<Graph>> graphs, executables;
    std::map<std::string, int64_t> counts;
    cudaError_t stuck = cudaSuccess;  ///< A sticky error of the GPU.

    Runtime();
    void report();
    Stream* stream(cudaStream_t handle);
    Event* event(cudaEvent_t handle);
};

Runtime& runtime();
/// Seconds on the steady clock.
double now();
/// Returns a random duration of an operation in seconds.
double random_duration();
int gpu_count();
int current_device();

/// Records the error for cudaGetLastError and returns it.
cudaError_t result(cudaError_t error);
/// Records and returns the error, and writes a line in the report.
cudaError_t refuse(cudaError_t error, const char* call, const std::string& why);
/// Does the same as refuse, and marks the capture as broken.
cudaError_t broken(Capture& capture, cudaError_t error, const char* call, const std::string& why);
/// Prints a stack trace if the environment requests it for `what`.
void trace(const char* what);
void sleep_until(double time);
/// Checks a call that is unsafe during a stream capture. If a capture and the thread's mode forbid
/// it, breaks the capture, refuses the call and returns false.
bool safe(const char* call);
/// Checks whether a call fails at once: because of the environment (DBENCH_STAND_IN_REFUSE) or the
/// state of the GPU.
cudaError_t check_call(const char* call);

/// Adds an operation to a stream: executed now, or when the captured graph is launched. Returns the
/// error.
cudaError_t enqueue(const char* call, cudaStream_t stream, std::function<void(double)> work);

/// Returns lines of the report about device memory.
std::vector<std::string> memory_report();

/// Returns an address at which the host can access this device memory.
char* reach(const void* address);

}  // namespace stand_in
