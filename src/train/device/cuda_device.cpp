#include "train/device/cuda_device.hpp"

#include "base/error.hpp"

#if DBENCH_CUDA
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/AutogradState.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "arena/cuda/device.hpp"
#include "train/device/gpu_facts.hpp"
#endif

namespace dbench::train {

#if DBENCH_CUDA
namespace {

/// While it lives, LibTorch runs backward passes on the calling thread, and so also the hooks of
/// gradients.
class SingleThreadedAutograd {
public:
    SingleThreadedAutograd()
        : before_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
        c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
    }
    ~SingleThreadedAutograd() {
        c10::AutogradState::get_tls_state().set_multithreading_enabled(before_);
    }
    SingleThreadedAutograd(const SingleThreadedAutograd&) = delete;
    SingleThreadedAutograd& operator=(const SingleThreadedAutograd&) = delete;

private:
    bool before_;
};

/// While it lives, filters LibTorch's warnings on this thread. It drops one warning that every LSTM
/// would raise in every pass: its weights are parts of the replica's row of parameters and not one
/// block of their own.
class WarningFilter final : public c10::WarningHandler {
public:
    WarningFilter() : before_(c10::WarningUtils::get_warning_handler()) {
        c10::WarningUtils::set_warning_handler(this);
    }
    ~WarningFilter() override { c10::WarningUtils::set_warning_handler(before_); }
    void process(const c10::Warning& warning) override {
        if (warning.msg().find("flatten_parameters()") == std::string::npos) {
            before_->process(warning);
        }
    }

private:
    c10::WarningHandler* before_;
};

/// A CUDA graph of LibTorch's work. All graphs of a stream share one memory pool: they run one
/// after another, and no graph leaves data in the pool for another one.
class CudaGraph final : public CapturedWork {
public:
    using Pool = std::shared_ptr<const c10::MempoolId_t>;

    CudaGraph(arena::Queue& queue, const c10::cuda::CUDAStream& stream, const char* name, Pool pool)
        : queue_(queue), stream_(stream), name_(name), pool_(std::move(pool)) {}
    ~CudaGraph() override {
        for (cudaEvent_t const end : ends_) cudaEventDestroy(end);
    }

    /// Captures `work`. Other threads may call any CUDA function meanwhile.
    void capture(const std::function<void(const Device::EndPart&)>& work) {
        const c10::cuda::CUDAStreamGuard guard(stream_);
        const SingleThreadedAutograd thread;
        try {
            graph_.capture_begin(*pool_, cudaStreamCaptureModeThreadLocal);
            work([this] { end_part(); });
            graph_.capture_end();
        } catch (...) {
            if (is_captured()) end_failed();
            undo_capture();
            throw;
        }
    }
    void replay() override {
        queue_.launch({name_, {}, 1, nullptr, [this](void*) {
                           const c10::cuda::CUDAStreamGuard guard(stream_);
                           graph_.replay();
                       }});
    }
    void order(int64_t part, arena::Queue& queue) override {
        const cudaEvent_t end = ends_.at(static_cast<size_t>(part));
        queue.launch({"wait for a part of a captured pass", {}, 1, nullptr, [end](void* stream) {
                          C10_CUDA_CHECK(
                              cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), end));
                      }});
    }

private:
    /// Ends the current part. Each launch of the graph records the event again, so that queues
    /// outside the graph can wait for it.
    void end_part() {
        cudaEvent_t end = nullptr;
        C10_CUDA_CHECK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
        ends_.push_back(end);
        C10_CUDA_CHECK(cudaEventRecordWithFlags(end, stream_.stream(), cudaEventRecordExternal));
    }
    bool is_captured() const {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        return cudaStreamIsCapturing(stream_.stream(), &status) == cudaSuccess &&
               status != cudaStreamCaptureStatusNone;
    }
    /// Ends a capture that has failed, so that the stream accepts launches again. It ignores the
    /// error of the end of the capture because the first error is reported.
    void end_failed() {
        try {
            graph_.capture_end();
        } catch (const c10::Error&) {
            cudaGetLastError();
        }
    }
    /// Undoes the start of a capture that has failed. LibTorch's allocators and its random number
    /// generator would otherwise behave as if the capture went on: capture_end() informs them only
    /// if CUDA let the capture begin and end.
    void undo_capture() {
        const c10::DeviceIndex gpu = stream_.device_index();
        const auto ignore_repeated = [](const auto& call) {
            try {
                call();
            } catch (const c10::Error&) {  // capture_end() has already informed them
            }
        };
        ignore_repeated([&] {
            c10::cuda::CUDACachingAllocator::endAllocateToPool(gpu, *pool_);
            c10::cuda::CUDACachingAllocator::releasePool(gpu, *pool_);
        });
        ignore_repeated([&] {
            at::HostAllocator* const pinned = at::getHostAllocator(at::kCUDA);
            pinned->end_allocate_to_pool(*pool_);
            pinned->release_pool(*pool_);
        });
        at::Generator own = at::cuda::detail::getDefaultCUDAGenerator(gpu);
        at::Generator fresh = at::cuda::detail::createCUDAGenerator(gpu);
        fresh.set_current_seed(own.current_seed());
        own.graphsafe_set_state(fresh);
    }

    arena::Queue& queue_;
    c10::cuda::CUDAStream stream_;
    const char* name_;
    Pool pool_;
    std::vector<cudaEvent_t> ends_;
    at::cuda::CUDAGraph graph_;
};

/// While it lives, the arena's device knows that one of its streams is being captured.
class CaptureScope {
public:
    explicit CaptureScope(arena::CudaDevice& device) : device_(device) {
        device_.set_capturing(true);
    }
    ~CaptureScope() { device_.set_capturing(false); }
    CaptureScope(const CaptureScope&) = delete;
    CaptureScope& operator=(const CaptureScope&) = delete;

private:
    arena::CudaDevice& device_;
};

class GpuDevice : public Device {
public:
    GpuDevice(int number, int ranks_per_gpu)
        : number_(number),
          ranks_per_gpu_(ranks_per_gpu),
          device_(number),
          side_(device_.queue_on(stream_from_pool().stream())),
          uploads_(device_.queue_on(stream_from_pool().stream())),
          step_(device_.place().compute(), *side_),
          place_(step_, device_.place().exchange()),
          stream_(wrap_stream(device_.compute_stream())) {
        c10::cuda::set_device(static_cast<c10::DeviceIndex>(number));
        c10::cuda::setCurrentCUDAStream(stream_);
        at::globalContext().setBenchmarkCuDNN(true);
        GpuDevice::allow_tf32(false);
        device_.on_low_memory([] {
            try {
                c10::cuda::CUDACachingAllocator::emptyCache();
            } catch (const c10::Error&) {  // the allocation itself then fails
                cudaGetLastError();
            }
        });
    }
    ~GpuDevice() override {
        try {
            c10::cuda::setCurrentCUDAStream(
                c10::cuda::getDefaultCUDAStream(static_cast<c10::DeviceIndex>(number_)));
            at::cuda::clearCublasWorkspaces();  // captured graphs hold pointers to these workspaces
            release_cached_memory();
        } catch (const c10::Error&) {  // the GPU has failed, which another error reports
            cudaGetLastError();
        }
    }

    std::string name() const override {
        return "cuda:" + std::to_string(number_) + " " + device_.name();
    }
    arena::Place place() const override { return place_; }
    std::optional<int> gpu() const override { return number_; }
    std::string gpu_address() const override { return train::gpu_address(number_); }
    int ranks_per_gpu() const override { return ranks_per_gpu_; }
    std::optional<MemoryInfo> memory_info() const override {
        size_t free = 0, all = 0;
        if (cudaMemGetInfo(&free, &all) != cudaSuccess) return std::nullopt;
        return MemoryInfo{static_cast<int64_t>(all), static_cast<int64_t>(free)};
    }
    void allow_tf32(bool allowed) override {
        at::globalContext().setAllowTF32CuDNN(allowed);
        at::globalContext().setAllowTF32CuBLAS(allowed);
    }
    void release_cached_memory() override { c10::cuda::CUDACachingAllocator::emptyCache(); }
    std::vector<std::pair<std::string, std::string>> settings() const override {
        const at::Context& torch = at::globalContext();
        const auto word = [](bool on) { return on ? "on" : "off"; };
        return {{"tf32", word(torch.allowTF32CuDNN() || torch.allowTF32CuBLAS())},
                {"cudnn_benchmark", word(torch.benchmarkCuDNN())},
                {"cudnn", cudnn_version()},
                {"driver", driver_version()}};
    }
    comm::NcclParts nccl() {
        return {comm::load_nccl(), comm::load_cuda(),
                [this](comm::CudaStream* stream) { return device_.queue_on(stream); }};
    }
    std::vector<arena::Queue*> side_queues() override {
        constexpr size_t kQueues = 4;  // LibTorch keeps cached memory for each stream
        std::vector<arena::Queue*> all;
        while (sides_.size() < kQueues) {
            cudaStream_t const stream = stream_from_pool().stream();
            sides_.push_back({device_.queue_on(stream), wrap_stream(stream), {}});
        }
        for (const Side& side : sides_) all.push_back(side.queue.get());
        return all;
    }
    arena::Queue* upload_queue() override { return uploads_.get(); }
    int64_t min_bucket_bytes() const override { return 1 << 20; }
    arena::StepQueue* step_queue() override { return &step_; }
    std::unique_ptr<CapturedWork> capture(const char* name, std::vector<std::vector<arena::Access>>,
                                          std::function<void(const EndPart&)> work,
                                          arena::Queue& queue) override {
        const auto side = std::find_if(sides_.begin(), sides_.end(), [&](const Side& each) {
            return each.queue.get() == &queue;
        });
        try {
            WeakPool& known = side == sides_.end() ? pool_ : side->pool;
            // A graph has a memory pool of its own, and LibTorch does not release cached memory of
            // earlier passes while it captures.
            if (known.expired()) release_cached_memory();
            const CaptureScope capturing(device_);
            auto graph = side == sides_.end()
                             ? std::make_unique<CudaGraph>(step_, stream_, name, pool(known))
                             : std::make_unique<CudaGraph>(queue, side->stream, name, pool(known));
            graph->capture(work);
            return graph;
        } catch (const c10::Error& error) {
            cudaGetLastError();
            const std::string all = error.what_without_backtrace();
            throw base::RunError(
                all.substr(0, all.find('\n')));  // the lines after the first are general advice
        }
    }

private:
    c10::cuda::CUDAStream stream_from_pool() const {
        return c10::cuda::getStreamFromPool(/*isHighPriority=*/false,
                                            static_cast<c10::DeviceIndex>(number_));
    }
    using WeakPool = CudaGraph::Pool::weak_type;
    struct Side {
        std::unique_ptr<arena::Queue> queue;
        c10::cuda::CUDAStream stream;
        WeakPool pool;
    };

    // Always wraps a stream in the same way: LibTorch compares stream ids and not handles.
    c10::cuda::CUDAStream wrap_stream(void* stream) const {
        return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream),
                                                static_cast<c10::DeviceIndex>(number_));
    }
    // Returns the pool of `known`, or a new one: LibTorch cannot reuse a pool after its last graph
    // was destroyed.
    static CudaGraph::Pool pool(WeakPool& known) {
        CudaGraph::Pool shared = known.lock();
        if (!shared) {
            shared = std::make_shared<const c10::MempoolId_t>(at::cuda::graph_pool_handle());
            known = shared;
        }
        return shared;
    }
    // Runs `work` before the launch returns, so that kernels that it launches itself are ordered
    // after the part of `work` before them.
    void launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                std::function<void()> work) override {
        queue.launch({name, std::move(accesses), 1, nullptr, [&](void* stream) {
                          const c10::cuda::CUDAStreamGuard guard(wrap_stream(stream));
                          const SingleThreadedAutograd thread;
                          work();
                      }});
    }

    int number_, ranks_per_gpu_;
    mutable arena::CudaDevice device_;
    std::unique_ptr<arena::Queue> side_, uploads_;
    arena::StepQueue step_;
    arena::Place place_;
    std::vector<Side> sides_;
    c10::cuda::CUDAStream stream_;
    WeakPool pool_;
    WarningFilter warning_filter_;
};

}  // namespace

std::unique_ptr<Device> make_gpu_device(int number, int ranks_per_gpu) {
    return std::make_unique<GpuDevice>(number, ranks_per_gpu);
}

comm::NcclParts nccl_of(Device& device) {
    if (GpuDevice* const gpu = dynamic_cast<GpuDevice*>(&device)) return gpu->nccl();
    throw base::UserError("NCCL connects GPUs, not " + device.name() + ": set /device to \"cuda\"");
}

#else
std::unique_ptr<Device> make_gpu_device(int, int) {
    throw base::UserError(
        "/device: no GPU can be used (this program was built without CUDA): build it by "
        "scripts/setup --cuda");
}
comm::NcclParts nccl_of(Device& device) {
    throw base::UserError("NCCL connects GPUs, not " + device.name() +
                          ": build this program by scripts/setup --cuda");
}
#endif

}  // namespace dbench::train
