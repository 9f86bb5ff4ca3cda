// Stream capture and graphs.

#include <set>

#include "runtime.hpp"

using namespace stand_in;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    if (const cudaError_t error = check_call(__func__)) return error;
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
    check_call(
        __func__);  // A call that is set to fail (DBENCH_STAND_IN_REFUSE) breaks the capture.
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
    if (const cudaError_t error = check_call(__func__)) return error;
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
    if (const cudaError_t error = check_call(__func__)) return error;
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
    return enqueue(__func__, stream, [on, graph = found->second](double time) {
        for (const Graph::Node& node : graph->nodes) {
            time += random_duration() / 10;
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
