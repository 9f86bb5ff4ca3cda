// Streams and events.

#include <algorithm>

#include "runtime.hpp"

using namespace stand_in;

namespace {

cudaError_t record(const char* call, cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    Runtime& all = runtime();
    const std::lock_guard lock(all.mutex);
    if (const cudaError_t error = check_call(call)) return error;
    Event* const e = all.event(event);
    Stream* const on = all.stream(stream);
    if (!e || !on) return refuse(cudaErrorInvalidResourceHandle, call, "no such event or stream");
    if (stream && stream != cudaStreamPerThread && e->device != on->device) {
        return refuse(cudaErrorInvalidResourceHandle, call, "an event of another card");
    }
    if (on->capture && (flags & cudaEventRecordExternal)) {
        return enqueue(call, stream, [event](double time) {
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

/// Counts a call that makes the host wait for the GPU.
cudaError_t host_waits(const char* call) {
    const std::lock_guard lock(runtime().mutex);
    ++runtime().counts["the host waits"];
    trace("waits");
    return check_call(call);
}

/// Refuses to wait for a stream that is being captured.
cudaError_t not_captured(const char* call, const Stream& stream) {
    if (!stream.capture) return cudaSuccess;
    stream.capture->broken = call;
    return refuse(cudaErrorStreamCaptureUnsupported, call, "of a stream that is captured");
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceSynchronize() {
    if (const cudaError_t error = host_waits(__func__)) return error;
    if (!safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    double end = 0;
    {
        const std::lock_guard lock(runtime().mutex);
        for (const auto& [handle, stream] : runtime().streams) {
            if (const cudaError_t error = not_captured(__func__, *stream)) return error;
            if (stream->device == current_device()) end = std::max(end, stream->busy_until);
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
    if (const cudaError_t error = check_call(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    auto made = std::make_unique<Stream>();
    made->device = current_device();
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
    return result(runtime().stuck);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (const cudaError_t error = check_call(__func__)) return error;
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
    if (const cudaError_t error = check_call(__func__)) return error;
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
    if (const cudaError_t error = check_call(__func__)) return error;
    const std::lock_guard lock(runtime().mutex);
    auto made = std::make_unique<Event>();
    made->device = current_device();
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
    return result(runtime().stuck);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return record(__func__, event, stream, 0);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return record(__func__, event, stream, flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (const cudaError_t error = check_call(__func__)) return error;
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
    if (const cudaError_t error = check_call(__func__)) return error;
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

}  // extern "C"
