#pragma once
// A stand-in for CUDA's runtime library (libcudart.so.13): a card without silicon, for programs
// that were built for a real one, LibTorch's own part included. It is preloaded before the real
// library.
//
// What it does: hand out memory, streams, events and graphs; keep the book of captures; say later
// than asked that work is done; and refuse what CUDA's documentation says is refused ("CUDA Runtime
// API", "CUDA C++ Programming Guide", section CUDA Graphs). Copies and fills are done. Kernels are
// not: they are checked, counted, and leave memory as it was. Memory of cudaMalloc cannot be
// reached by the host: touching it ends the process, as on a card.
//
// Environment:
//   DBENCH_STAND_IN_CARDS=N      how many cards there are (1)
//   DBENCH_STAND_IN_MEMORY=N     MiB that each has (65536)
//   DBENCH_STAND_IN_CAPABILITY=N  of computing that each has, as 75 (90)
//   DBENCH_STAND_IN_REPORT=FILE  a line for each refusal, and counts at the end
//   DBENCH_STAND_IN_NAMES=1      the report counts launches by the kernels' (mangled) names, too
//   DBENCH_STAND_IN_REFUSE=CALL  such a call fails, as "cudaGraphInstantiateWithFlags", while a
//                                stream is captured where that can be
//   DBENCH_STAND_IN_BREAKS=N     kernel N and all that comes later fail, as after an illegal
//   address

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

/// What a captured stream was given. Each node comes after others.
struct Graph {
    struct Node {
        std::vector<size_t> after;
        std::function<void(double)> repeat;  ///< when the graph is launched; null: nothing to do
    };
    std::vector<Node> nodes;
};

struct Capture {
    uint64_t id;
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    std::shared_ptr<Graph> graph;
    std::map<cudaStream_t, std::set<size_t>> tips;  ///< of each stream that takes part
    std::string broken;                             ///< why, where it is
};

struct Stream {
    int device = 0;
    unsigned flags = 0;
    double busy_until = 0;  ///< seconds on the steady clock
    std::shared_ptr<Capture> capture = nullptr;
};

struct Event {
    int device = 0;
    unsigned flags = 0;
    bool recorded = false;
    double time = 0;  ///< when it passes
    std::weak_ptr<Capture> capture = {};
    std::set<size_t> tips = {};  ///< where it was recorded in a capture
    bool captured = false;
};

/// All that there is; with the mutex held.
struct Runtime {
    std::recursive_mutex mutex;
    std::map<cudaStream_t, std::unique_ptr<Stream>> streams;
    std::map<cudaEvent_t, std::unique_ptr<Event>> events;
    std::set<std::shared_ptr<Capture>> captures;
    std::map<void*, std::shared_ptr<Graph>> graphs, executables;
    std::map<std::string, int64_t> counts;
    cudaError_t stuck = cudaSuccess;  ///< an error of the card, which stays

    Runtime();
    void report();
    Stream* stream(cudaStream_t handle);
    Event* event(cudaEvent_t handle);
};

Runtime& runtime();
double now();
/// A time that work takes, by chance.
double some_time();
int cards();
int current_device();

/// Notes the error for cudaGetLastError and returns it.
cudaError_t result(cudaError_t error);
/// The same, with a line in the report.
cudaError_t refuse(cudaError_t error, const char* call, const std::string& why);
/// The same of a call that breaks a capture.
cudaError_t broken(Capture& capture, cudaError_t error, const char* call, const std::string& why);
/// Where the program is, if the environment asks for that.
void trace(const char* what);
void sleep_until(double time);
/// For calls that are unsafe while a stream is captured: refused, and the capture broken, where the
/// thread's mode and others' captures say so.
bool safe(const char* call);
/// What a call that must not fail at once has to come through: the test's wishes, the card's state.
cudaError_t entry(const char* call);

/// Puts work on a stream: done now, and when a captured graph is launched. Returns its error.
cudaError_t put(const char* call, cudaStream_t stream, std::function<void(double)> work);

/// Lines of a report: of cards' memory.
std::vector<std::string> told_of_memory();

/// Where the host may reach the memory of a device that lies there.
char* reach(const void* address);

}  // namespace stand_in
