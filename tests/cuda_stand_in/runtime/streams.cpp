// Streams, events, and graphs of what a stream was given.

#include <execinfo.h>

#include <algorithm>
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

void say(const std::string& line) {
    const char* const file = variable("DBENCH_STAND_IN_REPORT");
    if (!file) return;
    if (FILE* const out = std::fopen(file, "a")) {
        std::fprintf(out, "%s\n", line.c_str());
        std::fclose(out);
    }
}

/// Where the program is, if the environment asks for that.
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

/// Whether the thread may do what CUDA calls unsafe while that capture goes on.
bool forbids(const Capture& capture) {
    if (mode_of_thread == cudaStreamCaptureModeRelaxed) return false;
    const bool mine = capture.thread == std::this_thread::get_id();
    if (mine) return capture.mode != cudaStreamCaptureModeRelaxed;
    return capture.mode == cudaStreamCaptureModeGlobal &&
           mode_of_thread == cudaStreamCaptureModeGlobal;
}

cudaError_t broken(Capture& capture, cudaError_t error, const char* call, const std::string& why) {
    if (capture.broken.empty()) capture.broken = call;
    return refuse(error, call, why);
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
    for (const auto& [what, count] : counts) say(what + ": " + std::to_string(count));
    say("streams left: " + std::to_string(streams.size() - 2));
    say("events left: " + std::to_string(events.size()));
    say("graphs left: " + std::to_string(graphs.size() + executables.size()));
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

double some_time() {
    thread_local std::minstd_rand random{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 40e-6)(random);
}

int cards() {
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
    say(std::string("refused: ") + call + ": " + cudaGetErrorName(error) + ": " + why);
    trace("refusals");
    return result(error);
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

cudaError_t entry(const char* call) {
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

cudaError_t put(const char* call, cudaStream_t stream, std::function<void(double)> work) {
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
    on->busy_until = begins + some_time();
    if (work) work(on->busy_until);
    return result(cudaSuccess);
}

}  // namespace stand_in

using namespace stand_in;

namespace {

cudaError_t record(const char* call, cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    if (const cudaError_t error = entry(call)) return error;
    Event* const e = all.event(event);
    Stream* const on = all.stream(stream);
    if (!e || !on) return refuse(cudaErrorInvalidResourceHandle, call, "no such event or stream");
    if (stream && stream != cudaStreamPerThread && e->device != on->device) {
        return refuse(cudaErrorInvalidResourceHandle, call, "an event of another card");
    }
    if (on->capture && (flags & cudaEventRecordExternal)) {
        return put(call, stream, [event](double time) {
            const std::lock_guard again(runtime().mutex);
            if (Event* const known = runtime().event(event)) {
                known->recorded = true;
                known->captured = false;
                known->time = time;
            }
        });
    }
    if (on->capture) {
        if (!on->capture->broken.empty()) {
            return refuse(cudaErrorStreamCaptureInvalidated, call, "after " + on->capture->broken);
        }
        e->captured = true;
        e->capture = on->capture;
        e->tips = on->capture->tips[stream];
        return result(cudaSuccess);
    }
    if (flags & cudaEventRecordExternal) {
        return refuse(cudaErrorIllegalState, call, "external, but the stream is not captured");
    }
    e->recorded = true;
    e->captured = false;
    e->time = std::max(now(), on->busy_until);
    return result(cudaSuccess);
}

/// The call makes the host wait for the card.
cudaError_t host_waits(const char* call) {
    const std::lock_guard lock(runtime().mutex);
    ++runtime().counts["the host waits"];
    trace("waits");
    return entry(call);
}

/// A stream that is to be waited for: not one that is captured.
cudaError_t not_captured(const char* call, const Stream& stream) {
    if (!stream.capture) return cudaSuccess;
    stream.capture->broken = call;
    return refuse(cudaErrorStreamCaptureUnsupported, call, "of a stream that is captured");
}

}  // namespace

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
    if (device < 0 || device >= cards()) return result(cudaErrorInvalidDevice);
    device_of_thread = device;
    return result(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
    *device = device_of_thread;
    return result(cards() > 0 ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaDeviceSynchronize() {
    if (const cudaError_t error = host_waits(__func__)) return error;
    if (!safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    double end = 0;
    {
        const std::lock_guard lock(runtime().mutex);
        for (const auto& [handle, stream] : runtime().streams) {
            if (const cudaError_t error = not_captured(__func__, *stream)) return error;
            if (stream->device == device_of_thread) end = std::max(end, stream->busy_until);
        }
    }
    sleep_until(end);
    return result(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return result(cudaSuccess);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    if (const cudaError_t error = entry(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    auto made = std::make_unique<Stream>();
    made->device = device_of_thread;
    made->flags = flags;
    *stream = reinterpret_cast<cudaStream_t>(made.get());
    runtime().streams[*stream] = std::move(made);
    return result(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const std::lock_guard lock(runtime().mutex);
    const Stream* const found = runtime().stream(stream);
    if (!found || !stream) {
        return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
    }
    if (found->capture) return not_captured(__func__, *found);
    runtime().streams.erase(stream);
    return result(cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (const cudaError_t error = entry(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    const Stream* const found = runtime().stream(stream);
    if (!found) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
    if (const cudaError_t error = not_captured(__func__, *found)) return error;
    return result(now() < found->busy_until ? cudaErrorNotReady : cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (const cudaError_t error = host_waits(__func__)) return error;
    double end = 0;
    {
        const std::lock_guard lock(runtime().mutex);
        const Stream* const found = runtime().stream(stream);
        if (!found) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
        if (const cudaError_t error = not_captured(__func__, *found)) return error;
        if (!safe(__func__)) return cudaErrorStreamCaptureUnsupported;
        end = found->busy_until;
    }
    sleep_until(end);
    return result(runtime().stuck);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    if (const cudaError_t error = entry(__func__)) return error;
    const Event* const e = all.event(event);
    Stream* const on = all.stream(stream);
    if (!e || !on) {
        return refuse(cudaErrorInvalidResourceHandle, __func__, "no such event or stream");
    }
    if (e->captured) {
        const std::shared_ptr<Capture> capture = e->capture.lock();
        if (!capture || !all.captures.contains(capture)) {
            return refuse(cudaErrorCapturedEvent, __func__, "an event of a capture that has ended");
        }
        if (on->capture && on->capture != capture) {
            return broken(*on->capture, cudaErrorStreamCaptureMerge, __func__, "of two captures");
        }
        on->capture = capture;
        capture->tips[stream].insert(e->tips.begin(), e->tips.end());
        return result(cudaSuccess);
    }
    if (on->capture && !(flags & cudaEventWaitExternal)) {
        if (!e->recorded) return result(cudaSuccess);
        return broken(*on->capture, cudaErrorStreamCaptureIsolation, __func__,
                      "captured work would wait for an event outside");
    }
    if (e->recorded) on->busy_until = std::max(on->busy_until, e->time);
    return result(cudaSuccess);
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned) {
    const cudaError_t error = cudaStreamSynchronize(stream);
    callback(stream, error, data);
    return error;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (const cudaError_t error = entry(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    auto made = std::make_unique<Event>();
    made->device = device_of_thread;
    made->flags = flags;
    *event = reinterpret_cast<cudaEvent_t>(made.get());
    runtime().events[*event] = std::move(made);
    return result(cudaSuccess);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().events.erase(event) == 0) {
        return refuse(cudaErrorInvalidResourceHandle, __func__, "no such event");
    }
    return result(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return record(__func__, event, stream, 0);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return record(__func__, event, stream, flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (const cudaError_t error = entry(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    const Event* const e = runtime().event(event);
    if (!e) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such event");
    if (!safe(__func__)) return cudaErrorStreamCaptureUnsupported;
    if (e->captured) {
        if (const auto capture = e->capture.lock()) capture->broken = __func__;
        return refuse(cudaErrorCapturedEvent, __func__, "an event of a capture");
    }
    return result(e->recorded && now() < e->time ? cudaErrorNotReady : cudaSuccess);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (const cudaError_t error = host_waits(__func__)) return error;
    double time = 0;
    {
        const std::lock_guard lock(runtime().mutex);
        const Event* const e = runtime().event(event);
        if (!e) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such event");
        if (!safe(__func__)) return cudaErrorStreamCaptureUnsupported;
        if (e->captured) return refuse(cudaErrorCapturedEvent, __func__, "an event of a capture");
        time = e->recorded ? e->time : 0;
    }
    sleep_until(time);
    return result(runtime().stuck);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    if (const cudaError_t error = entry(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    const Event *const a = runtime().event(from), *const b = runtime().event(to);
    if (!a || !b) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such event");
    if ((a->flags | b->flags) & cudaEventDisableTiming) {
        return refuse(cudaErrorInvalidResourceHandle, __func__, "an event without time");
    }
    if (!a->recorded || !b->recorded) {
        return refuse(cudaErrorInvalidResourceHandle, __func__, "an event that was not recorded");
    }
    if (now() < std::max(a->time, b->time)) {
        return refuse(cudaErrorNotReady, __func__, "an event that has not passed");
    }
    *milliseconds = static_cast<float>(1e3 * (b->time - a->time));
    return result(cudaSuccess);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    std::swap(*mode, mode_of_thread);
    return result(cudaSuccess);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    if (const cudaError_t error = entry(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    Stream* const on = runtime().stream(stream);
    if (!on) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
    if (!stream || stream == cudaStreamLegacy) {
        return refuse(cudaErrorStreamCaptureUnsupported, __func__, "the default stream");
    }
    if (on->capture) return refuse(cudaErrorIllegalState, __func__, "is captured already");
    static uint64_t captures = 0;
    on->capture = std::make_shared<Capture>(Capture{
        ++captures, stream, mode, std::this_thread::get_id(), std::make_shared<Graph>(), {}, {}});
    on->capture->tips[stream] = {};
    runtime().captures.insert(on->capture);
    return result(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    entry(__func__);  // what is not to be had breaks the capture
    *graph = nullptr;
    Stream* const on = all.stream(stream);
    if (!on || !on->capture) return refuse(cudaErrorIllegalState, __func__, "is not captured");
    const std::shared_ptr<Capture> capture = on->capture;
    if (capture->origin != stream) {
        return broken(*capture, cudaErrorStreamCaptureUnmatched, __func__, "began elsewhere");
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
        return refuse(cudaErrorStreamCaptureWrongThread, __func__, "began on another thread");
    }
    for (const auto& [handle, each] : all.streams) {
        if (each->capture == capture) each->capture = nullptr;
    }
    all.captures.erase(capture);
    if (!capture->broken.empty()) {
        return refuse(cudaErrorStreamCaptureInvalidated, __func__, "after " + capture->broken);
    }
    std::set<size_t> ends;
    for (size_t k = 0; k < capture->graph->nodes.size(); ++k) {
        ends.insert(k);
        for (const size_t before : capture->graph->nodes[k].after) ends.erase(before);
    }
    for (const size_t end : capture->tips[stream]) ends.erase(end);
    if (!ends.empty()) {
        return refuse(cudaErrorStreamCaptureUnjoined, __func__, "a stream has not come back");
    }
    *graph = reinterpret_cast<cudaGraph_t>(capture->graph.get());
    all.graphs[*graph] = capture->graph;
    return result(cudaSuccess);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    const std::lock_guard lock(runtime().mutex);
    const Stream* const on = runtime().stream(stream);
    if (!on) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
    *status = !on->capture                  ? cudaStreamCaptureStatusNone
              : on->capture->broken.empty() ? cudaStreamCaptureStatusActive
                                            : cudaStreamCaptureStatusInvalidated;
    return result(cudaSuccess);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
    const cudaError_t error = cudaStreamIsCapturing(stream, status);
    if (error != cudaSuccess || *status == cudaStreamCaptureStatusNone) return error;
    const std::lock_guard lock(runtime().mutex);
    const Capture& capture = *runtime().stream(stream)->capture;
    if (id) *id = capture.id;
    if (graph) *graph = reinterpret_cast<cudaGraph_t>(capture.graph.get());
    if (nodes) *nodes = nullptr;
    if (edges) *edges = nullptr;
    if (count) *count = 0;
    return result(cudaSuccess);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
    if (const cudaError_t error = entry(__func__)) return error;
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    const auto found = all.graphs.find(graph);
    if (found == all.graphs.end()) return refuse(cudaErrorInvalidValue, __func__, "no such graph");
    auto* const made = new char;
    *executable = reinterpret_cast<cudaGraphExec_t>(made);
    all.executables[made] = found->second;
    return result(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    if (const cudaError_t error = entry(__func__)) return error;
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    const auto found = all.executables.find(executable);
    Stream* const on = all.stream(stream);
    if (found == all.executables.end() || !on) {
        return refuse(cudaErrorInvalidValue, __func__, "no such graph or stream");
    }
    if (on->capture) {
        return broken(*on->capture, cudaErrorStreamCaptureUnsupported, __func__,
                      "a graph inside a graph");
    }
    return put(__func__, stream, [on, graph = found->second](double time) {
        for (const Graph::Node& node : graph->nodes) {
            time += some_time() / 10;
            if (node.repeat) node.repeat(time);
        }
        on->busy_until = time;
    });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().graphs.erase(graph) == 0) {
        return refuse(cudaErrorInvalidValue, __func__, "no such graph");
    }
    return result(cudaSuccess);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().executables.erase(executable) == 0) {
        return refuse(cudaErrorInvalidValue, __func__, "no such graph");
    }
    delete reinterpret_cast<char*>(executable);
    return result(cudaSuccess);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    const std::lock_guard lock(runtime().mutex);
    const auto found = runtime().graphs.find(graph);
    if (found == runtime().graphs.end()) {
        return refuse(cudaErrorInvalidValue, __func__, "no such graph");
    }
    if (!nodes) *count = found->second->nodes.size();
    return result(cudaSuccess);
}

}  // extern "C"
