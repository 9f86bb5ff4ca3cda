// The state of the stand-in, its report, and the checks that refuse calls.

#include <execinfo.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "runtime.hpp"

namespace stand_in {
namespace {

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int device_of_thread = 0;

const char* variable(const char* name) {
    const char* const value = std::getenv(name);
    return value && *value ? value : nullptr;
}

void write_report(const std::string& line) {
    const char* const file = variable("DBENCH_STAND_IN_REPORT");
    if (!file) return;
    if (FILE* const out = std::fopen(file, "a")) {
        std::fprintf(out, "%s\n", line.c_str());
        std::fclose(out);
    }
}

/// Returns true if the thread may not make unsafe calls (in CUDA's sense) during this capture.
bool forbids(const Capture& capture) {
    if (mode_of_thread == cudaStreamCaptureModeRelaxed) return false;
    const bool mine = capture.thread == std::this_thread::get_id();
    if (mine) return capture.mode != cudaStreamCaptureModeRelaxed;
    return capture.mode == cudaStreamCaptureModeGlobal &&
           mode_of_thread == cudaStreamCaptureModeGlobal;
}

}  // namespace

Runtime& runtime() {
    static auto* const one = new Runtime;
    return *one;
}

Runtime::Runtime() {
    streams[nullptr] = std::make_unique<Stream>();
    streams[cudaStreamPerThread] = std::make_unique<Stream>();
}

void Runtime::report() {
    const std::lock_guard lock(mutex);
    if (counts.empty()) return;
    for (const auto& [what, count] : counts) write_report(what + ": " + std::to_string(count));
    for (const std::string& line : memory_report()) write_report(line);
    write_report("streams left: " + std::to_string(streams.size() - 2));
    write_report("events left: " + std::to_string(events.size()));
    write_report("graphs left: " + std::to_string(graphs.size() + executables.size()));
}

Stream* Runtime::stream(cudaStream_t handle) {
    if (handle == cudaStreamLegacy) handle = nullptr;
    const auto found = streams.find(handle);
    return found == streams.end() ? nullptr : found->second.get();
}

Event* Runtime::event(cudaEvent_t handle) {
    const auto found = events.find(handle);
    return found == events.end() ? nullptr : found->second.get();
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double random_duration() {
    thread_local std::minstd_rand random{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 40e-6)(random);
}

int gpu_count() {
    static const int count = [] {
        const char* const value = variable("DBENCH_STAND_IN_CARDS");
        return value ? std::atoi(value) : 1;
    }();
    return count;
}

int current_device() { return device_of_thread; }

cudaError_t result(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

cudaError_t refuse(cudaError_t error, const char* call, const std::string& why) {
    write_report(std::string("refused: ") + call + ": " + cudaGetErrorName(error) + ": " + why);
    trace("refusals");
    return result(error);
}

cudaError_t broken(Capture& capture, cudaError_t error, const char* call, const std::string& why) {
    if (capture.broken.empty()) capture.broken = call;
    return refuse(error, call, why);
}

void trace(const char* what) {
    const char* const wanted = variable("DBENCH_STAND_IN_TRACE");
    if (!wanted || std::strcmp(wanted, what) != 0) return;
    void* frames[60];
    backtrace_symbols_fd(frames, backtrace(frames, 60), 2);
    std::fprintf(stderr, "\n");
}

void sleep_until(double time) {
    const double left = time - now();
    if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

bool safe(const char* call) {
    const std::lock_guard lock(runtime().mutex);
    for (const auto& capture : runtime().captures) {
        if (!forbids(*capture)) continue;
        broken(*capture, cudaErrorStreamCaptureUnsupported, call, "while a stream is captured");
        return false;
    }
    return true;
}

cudaError_t check_call(const char* call) {
    const std::lock_guard lock(runtime().mutex);
    ++runtime().counts[call];
    if (runtime().stuck != cudaSuccess) return result(runtime().stuck);
    static const char* const unwanted = variable("DBENCH_STAND_IN_REFUSE");
    if (unwanted && std::strcmp(unwanted, call) == 0) {
        for (const auto& capture : runtime().captures) capture->broken = call;
        return result(cudaErrorNotSupported);
    }
    return cudaSuccess;
}

cudaError_t enqueue(const char* call, cudaStream_t stream, std::function<void(double)> work) {
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    Stream* const on = all.stream(stream);
    if (!on) return refuse(cudaErrorInvalidResourceHandle, call, "no such stream");
    if (stream != nullptr && stream != cudaStreamPerThread && on->device != current_device()) {
        return refuse(cudaErrorInvalidResourceHandle, call, "a stream of another card");
    }
    if (on->capture) {
        Capture& capture = *on->capture;
        if (!capture.broken.empty()) {
            return refuse(cudaErrorStreamCaptureInvalidated, call, "after " + capture.broken);
        }
        std::set<size_t>& tips = capture.tips[stream];
        capture.graph->nodes.push_back({{tips.begin(), tips.end()}, std::move(work)});
        tips = {capture.graph->nodes.size() - 1};
        return result(cudaSuccess);
    }
    const bool legacy = stream == nullptr || stream == cudaStreamLegacy;
    double begins = std::max(now(), on->busy_until);
    for (const auto& [handle, other] : all.streams) {
        const bool waits = legacy || handle == nullptr;
        if (!waits || (other->flags & cudaStreamNonBlocking) || other.get() == on) continue;
        if (legacy && other->capture) {
            return broken(*other->capture, cudaErrorStreamCaptureImplicit, call,
                          "the default stream waits for one that is captured");
        }
        if (other->device == on->device) begins = std::max(begins, other->busy_until);
    }
    on->busy_until = begins + random_duration();
    if (work) work(on->busy_until);
    return result(cudaSuccess);
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

void cudaStandInReport() { runtime().report(); }

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    const std::lock_guard lock(runtime().mutex);
    last_error = runtime().stuck;
    return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= gpu_count()) return result(cudaErrorInvalidDevice);
    device_of_thread = device;
    return result(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
    *device = device_of_thread;
    return result(gpu_count() > 0 ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    std::swap(*mode, mode_of_thread);
    return result(cudaSuccess);
}

}  // extern "C"
