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

/// Autograd's own threads stay out of it: hooks run on the thread that calls backward.
class OneThread {
public:
    OneThread() : before_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
        c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
    }
    ~OneThread() { c10::AutogradState::get_tls_state().set_multithreading_enabled(before_); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

private:
    bool before_;
};

/// LibTorch's warnings on this thread, but for one that each LSTM would give in each pass: that its
/// weights, which lie in a row of all parameters, are no block of their own.
class Warnings final : public c10::WarningHandler {
public:
    Warnings() : before_(c10::WarningUtils::get_warning_handler()) {
        c10::WarningUtils::set_warning_handler(this);
    }
    ~Warnings() override { c10::WarningUtils::set_warning_handler(before_); }
    void process(const c10::Warning& warning) override {
        if (warning.msg().find("flatten_parameters()") == std::string::npos) {
            before_->process(warning);
        }
    }

private:
    c10::WarningHandler* before_;
};

/// A CUDA graph of LibTorch's work. All of a stream have their memory from one pool: they run one
/// after another, and leave nothing there.
class CudaGraph final : public Captured {
public:
    using Pool = std::shared_ptr<const c10::MempoolId_t>;

    CudaGraph(arena::Queue& queue, const c10::cuda::CUDAStream& stream, const char* name, Pool pool)
        : queue_(queue), stream_(stream), name_(name), pool_(std::move(pool)) {}
    ~CudaGraph() override {
        for (cudaEvent_t const end : ends_) cudaEventDestroy(end);
    }

    /// Other threads may ask CUDA for what they like meanwhile.
    void capture(const std::function<void(const Device::PartEnds&)>& work) {
        const c10::cuda::CUDAStreamGuard guard(stream_);
        const OneThread thread;
        try {
            graph_.capture_begin(*pool_, cudaStreamCaptureModeThreadLocal);
            work([this] { end_part(); });
            graph_.capture_end();
        } catch (...) {
            if (is_captured()) end_failed();
            forget();
            throw;
        }
    }
    void put() override {
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
    /// Each launch of the graph records the event anew, for whoever waits from outside.
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
    /// The stream launches again; why it failed is known.
    void end_failed() {
        try {
            graph_.capture_end();
        } catch (const c10::Error&) {
            cudaGetLastError();
        }
    }
    /// LibTorch's allocators and its generator would go on as if this were captured: it tells them
    /// of an end only where CUDA has let it begin and end.
    void forget() {
        const c10::DeviceIndex card = stream_.device_index();
        const auto unless_told = [](const auto& tell) {
            try {
                tell();
            } catch (const c10::Error&) {  // they have been told
            }
        };
        unless_told([&] {
            c10::cuda::CUDACachingAllocator::endAllocateToPool(card, *pool_);
            c10::cuda::CUDACachingAllocator::releasePool(card, *pool_);
        });
        unless_told([&] {
            at::HostAllocator* const pinned = at::getHostAllocator(at::kCUDA);
            pinned->end_allocate_to_pool(*pool_);
            pinned->release_pool(*pool_);
        });
        at::Generator own = at::cuda::detail::getDefaultCUDAGenerator(card);
        at::Generator fresh = at::cuda::detail::createCUDAGenerator(card);
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

/// While it lives, a stream of the device is captured.
class Capturing {
public:
    explicit Capturing(arena::CudaDevice& device) : device_(device) { device_.capturing(true); }
    ~Capturing() { device_.capturing(false); }
    Capturing(const Capturing&) = delete;
    Capturing& operator=(const Capturing&) = delete;

private:
    arena::CudaDevice& device_;
};

class Card : public Device {
public:
    explicit Card(int number)
        : number_(number),
          device_(number),
          aside_(device_.queue_on(stream_from_pool().stream())),
          uploads_(device_.queue_on(stream_from_pool().stream())),
          step_(*device_.queues().compute, *aside_),
          queues_{&step_, device_.queues().exchange},
          stream_(known(device_.compute_stream())) {
        c10::cuda::set_device(static_cast<c10::DeviceIndex>(number));
        c10::cuda::setCurrentCUDAStream(stream_);
        at::globalContext().setBenchmarkCuDNN(true);
        at::globalContext().setAllowTF32CuDNN(false);
        at::globalContext().setAllowTF32CuBLAS(false);
        device_.when_short([] {
            try {
                c10::cuda::CUDACachingAllocator::emptyCache();
            } catch (const c10::Error&) {  // what is short stays short
                cudaGetLastError();
            }
        });
    }
    ~Card() override {
        try {
            c10::cuda::setCurrentCUDAStream(
                c10::cuda::getDefaultCUDAStream(static_cast<c10::DeviceIndex>(number_)));
            at::cuda::clearCublasWorkspaces();  // that captured passes have used, too
            give_back();
        } catch (const c10::Error&) {  // of a card that has failed, which is known
            cudaGetLastError();
        }
    }

    std::string name() const override {
        return "cuda:" + std::to_string(number_) + " " + device_.name();
    }
    arena::Queues queues() const override { return queues_; }
    arena::Memory memory() const override { return device_.memory(); }
    arena::Space space() const override { return arena::Space::device; }
    arena::Memory values_memory() const override { return device_.pinned_memory(); }
    std::optional<int> card() const override { return number_; }
    std::optional<Room> room() const override {
        size_t free = 0, all = 0;
        if (cudaMemGetInfo(&free, &all) != cudaSuccess) return std::nullopt;
        return Room{static_cast<int64_t>(all), static_cast<int64_t>(free)};
    }
    void give_back() override { c10::cuda::CUDACachingAllocator::emptyCache(); }
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
        constexpr size_t kQueues = 4;  // LibTorch keeps memory for each
        std::vector<arena::Queue*> all;
        while (sides_.size() < kQueues) {
            cudaStream_t const stream = stream_from_pool().stream();
            sides_.push_back({device_.queue_on(stream), known(stream), {}});
        }
        for (const Side& side : sides_) all.push_back(side.queue.get());
        return all;
    }
    arena::Queue* upload_queue() override { return uploads_.get(); }
    int64_t least_bucket_bytes() const override { return 1 << 20; }
    arena::StepQueue* step_queue() override { return &step_; }
    std::unique_ptr<Captured> capture(const char* name, std::vector<std::vector<arena::Access>>,
                                      std::function<void(const PartEnds&)> work,
                                      arena::Queue* queue) override {
        const auto side = std::find_if(sides_.begin(), sides_.end(), [queue](const Side& each) {
            return queue && each.queue.get() == queue;
        });
        try {
            WeakPool& known = side == sides_.end() ? pool_ : side->pool;
            // A graph has memory of its own, and LibTorch does not give back while it captures
            // what passes before have left.
            if (known.expired()) give_back();
            const Capturing capturing(device_);
            auto graph =
                side == sides_.end()
                    ? std::make_unique<CudaGraph>(*queues_.compute, stream_, name, pool(known))
                    : std::make_unique<CudaGraph>(*queue, side->stream, name, pool(known));
            graph->capture(work);
            return graph;
        } catch (const c10::Error& error) {
            cudaGetLastError();
            const std::string all = error.what_without_backtrace();
            throw base::RunError(all.substr(0, all.find('\n')));  // what follows is general advice
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

    // By one name always: LibTorch has streams apart whose names differ.
    c10::cuda::CUDAStream known(void* stream) const {
        return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream),
                                                static_cast<c10::DeviceIndex>(number_));
    }
    // LibTorch lets nobody into a pool again that all graphs have left.
    static CudaGraph::Pool pool(WeakPool& known) {
        CudaGraph::Pool shared = known.lock();
        if (!shared) {
            shared = std::make_shared<const c10::MempoolId_t>(at::cuda::graph_pool_handle());
            known = shared;
        }
        return shared;
    }
    // Before the launch returns: what is launched inside comes behind what was done before it.
    void launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                std::function<void()> work) override {
        queue.launch({name, std::move(accesses), 1, nullptr, [&](void* stream) {
                          const c10::cuda::CUDAStreamGuard guard(known(stream));
                          const OneThread thread;
                          work();
                      }});
    }

    int number_;
    mutable arena::CudaDevice device_;
    std::unique_ptr<arena::Queue> aside_, uploads_;
    arena::StepQueue step_;
    arena::Queues queues_;
    std::vector<Side> sides_;
    c10::cuda::CUDAStream stream_;
    WeakPool pool_;
    Warnings warnings_;
};

}  // namespace

std::unique_ptr<Device> make_card(int number) { return std::make_unique<Card>(number); }

comm::NcclParts nccl_of(Device& device) {
    if (Card* const card = dynamic_cast<Card*>(&device)) return card->nccl();
    throw base::UserError("NCCL connects cards, not " + device.name() + ": use \"cuda\"");
}

#else
std::unique_ptr<Device> make_card(int) {
    throw base::UserError("a card cannot be had: this program was built without CUDA");
}
comm::NcclParts nccl_of(Device& device) {
    throw base::UserError("NCCL connects cards, not " + device.name() +
                          ": build this program by scripts/setup --cuda");
}
#endif

}  // namespace dbench::train
