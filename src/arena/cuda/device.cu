// Implements CudaDevice and the Streams interface with CUDA's runtime.
#include "arena/cuda/device.hpp"

#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "arena/cuda/device_block.cuh"
#include "arena/device/streams.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

size_t free_on(int device) {
    expect(cudaSetDevice(device), "cudaSetDevice");
    size_t free = 0, total = 0;
    expect(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
}

/// Allocates zeroed device memory. If there is too little, calls `give_back` and tries once more.
std::shared_ptr<void> own(int device, int64_t bytes, const std::function<void()>& give_back) {
    const auto size = static_cast<size_t>(bytes);
    size_t free = free_on(device);
    void* memory = nullptr;
    cudaError_t result = cudaMalloc(&memory, size);
    if (result == cudaErrorMemoryAllocation && give_back) {
        cudaGetLastError();
        give_back();
        free = free_on(device);
        result = cudaMalloc(&memory, size);
    }
    if (result == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw DeviceMemoryError("CUDA device " + std::to_string(device) + " has " +
                                std::to_string(free >> 20) + " MiB free, and rows of " +
                                std::to_string(size >> 20) +
                                " MiB are required: use fewer replicas per rank, or a smaller "
                                "model");
    }
    expect(result, "cudaMalloc");
    std::shared_ptr<void> owner(memory, [](void* block) { cudaFree(block); });
    expect(cudaMemsetAsync(memory, 0, size, cudaStreamPerThread), "cudaMemsetAsync");
    expect(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
    return owner;
}

/// A cache of pinned blocks of 2^k bytes. Freed blocks are kept for later requests.
class PinnedBlocks : public std::enable_shared_from_this<PinnedBlocks> {
public:
    explicit PinnedBlocks(int device) : device_(device) {}
    ~PinnedBlocks() {
        for (const auto& [size, block] : free_) cudaFreeHost(block);
    }

    std::shared_ptr<void> take(int64_t bytes) {
        size_t size = 4096;
        while (size < static_cast<size_t>(bytes)) size *= 2;
        return {found(size, static_cast<size_t>(bytes)),
                [size, all = shared_from_this()](void* block) {
                    const std::lock_guard lock(all->mutex_);
                    all->free_.emplace(size, block);
                }};
    }

private:
    void* found(size_t size, size_t zeroed) {
        const std::lock_guard lock(mutex_);
        if (const auto entry = free_.find(size); entry != free_.end()) {
            void* const block = entry->second;
            free_.erase(entry);
            std::memset(block, 0, zeroed);
            return block;
        }
        expect(cudaSetDevice(device_), "cudaSetDevice");
        void* block = nullptr;
        expect(cudaHostAlloc(&block, size, cudaHostAllocPortable | cudaHostAllocMapped),
               "cudaHostAlloc");
        std::memset(block, 0, size);
        return block;
    }

    const int device_;
    std::mutex mutex_;
    std::multimap<size_t, void*> free_;
};

/// A cache of CUDA events with timing.
class TimingEvents : public std::enable_shared_from_this<TimingEvents> {
public:
    ~TimingEvents() {
        for (cudaEvent_t const event : free_) cudaEventDestroy(event);
    }

    /// Records an event on a stream of the thread's current device.
    std::shared_ptr<const Timestamp> record(cudaStream_t stream) {
        cudaEvent_t const event = take();
        auto timestamp = std::make_shared<EventTimestamp>(shared_from_this(), event);
        expect(cudaEventRecord(event, stream), "cudaEventRecord");
        return timestamp;
    }

private:
    class EventTimestamp final : public Timestamp {
    public:
        EventTimestamp(std::shared_ptr<TimingEvents> from, cudaEvent_t event)
            : from_(std::move(from)), event_(event) {}
        ~EventTimestamp() override {
            const std::lock_guard lock(from_->mutex_);
            from_->free_.push_back(event_);
        }
        double since(const Timestamp& other) const override {
            float milliseconds = 0;
            expect(cudaEventElapsedTime(&milliseconds,
                                        static_cast<const EventTimestamp&>(other).event_, event_),
                   "cudaEventElapsedTime");
            return 1e-3 * static_cast<double>(milliseconds);
        }

    private:
        const std::shared_ptr<TimingEvents> from_;
        cudaEvent_t const event_;
    };

    cudaEvent_t take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            cudaEvent_t event = nullptr;
            expect(cudaEventCreate(&event), "cudaEventCreate");
            return event;
        }
        cudaEvent_t const event = free_.back();
        free_.pop_back();
        return event;
    }

    std::mutex mutex_;
    std::vector<cudaEvent_t> free_;
};

/// CUDA's streams and events.
class CudaStreams final : public Streams {
public:
    CudaStreams(int device, std::shared_ptr<PinnedBlocks> pinned)
        : device_(device), pinned_(std::move(pinned)) {
        make_current();
        int least = 0, greatest = 0;
        expect(cudaDeviceGetStreamPriorityRange(&least, &greatest),
               "cudaDeviceGetStreamPriorityRange");
        compute = make_stream(least);
        exchange = make_stream(greatest);
        copies_ = make_stream(greatest);
        // Keeps freed memory of read-only copies in the pool when the host synchronizes with the
        // device.
        cudaMemPool_t pool = nullptr;
        expect(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
        uint64_t kept = 64 << 20;
        expect(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept),
               "cudaMemPoolSetAttribute");
    }
    ~CudaStreams() override {
        for (const Staged& each : staged_) cudaEventDestroy(each.read);
        for (cudaStream_t const stream : {compute, exchange, copies_}) cudaStreamDestroy(stream);
    }

    // Every call first sets the thread's current device, because streams belong to a device.
    void make_current() override { expect(cudaSetDevice(device_), "cudaSetDevice"); }
    void launch(void* stream, Launch launch) override {
        make_current();
        launch.enqueue(stream);
    }
    void* make_event() override {
        make_current();
        cudaEvent_t event = nullptr;
        expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
               "cudaEventCreateWithFlags");
        return event;
    }
    void destroy_event(void* event) override { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }
    void record(void* event, void* stream) override {
        make_current();
        expect(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)),
               "cudaEventRecord");
    }
    bool passed(void* event) override {
        make_current();  // cudaEventQuery would otherwise create a context on device 0 in a thread
                         // without a device.
        const cudaError_t result = cudaEventQuery(static_cast<cudaEvent_t>(event));
        if (result == cudaErrorNotReady) {
            cudaGetLastError();  // Clears the error, which later calls would otherwise report.
            return false;
        }
        expect(result, "the work on the device (cudaEventQuery)");
        return true;
    }
    std::shared_ptr<const Timestamp> timestamp(void* stream) override {
        make_current();
        return timing_->record(static_cast<cudaStream_t>(stream));
    }
    void wait(void* stream, void* event) override {
        make_current();
        expect(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream),
                                   static_cast<cudaEvent_t>(event), 0),
               "cudaStreamWaitEvent");
    }
    void* copy(const void* data, int64_t bytes, void* stream) override {
        make_current();
        auto* const on = static_cast<cudaStream_t>(stream);
        const auto size = static_cast<size_t>(bytes);
        void* memory = nullptr;
        expect(cudaMallocAsync(&memory, size, on), "cudaMallocAsync");
        std::shared_ptr<void> staged;
        if (size > kReadAtOnce) {
            staged = pinned_->take(bytes);
            data = std::memcpy(staged.get(), data, size);
        }
        expect(cudaMemcpyAsync(memory, data, size, cudaMemcpyHostToDevice, on), "cudaMemcpyAsync");
        if (staged) keep_until_read(std::move(staged), on);
        return memory;
    }
    void free_copy(void* memory) override { cudaFreeAsync(memory, copies_); }

    cudaStream_t compute = nullptr, exchange = nullptr;

private:
    /// Above this size CUDA may block the host until the stream reaches the copy if the memory is
    /// not pinned.
    static constexpr size_t kReadAtOnce = 64 << 10;

    struct Staged {
        cudaEvent_t read;
        std::shared_ptr<void> memory;
    };

    void keep_until_read(std::shared_ptr<void> memory, cudaStream_t stream) {
        while (!staged_.empty() && passed(staged_.front().read)) {
            cudaEventDestroy(staged_.front().read);
            staged_.pop_front();
        }
        auto* const read = static_cast<cudaEvent_t>(make_event());
        staged_.push_back({read, std::move(memory)});
        record(read, stream);
    }
    static cudaStream_t make_stream(int priority) {
        cudaStream_t stream = nullptr;
        expect(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
               "cudaStreamCreateWithPriority");
        return stream;
    }

    const int device_;
    const std::shared_ptr<PinnedBlocks> pinned_;
    std::deque<Staged> staged_;  // Used by one thread at a time: copies are made with the mutex of
                                 // StreamDevice held.
    cudaStream_t copies_ = nullptr;
    const std::shared_ptr<TimingEvents> timing_ = std::make_shared<TimingEvents>();
};

/// Returns `number` if the device can be used, else throws UserError.
int checked_number(int number) {
    const int count = CudaDevice::count();
    if (count == 0) {
        throw base::UserError("no CUDA device is available (" + CudaDevice::why_unavailable() +
                              "): check nvidia-smi and CUDA_VISIBLE_DEVICES, or run on the CPU");
    }
    if (number < 0 || number >= count) {
        throw base::UserError("CUDA device " + std::to_string(number) +
                              " is not available (this process sees " + std::to_string(count) +
                              "): start fewer ranks on a host, with several replicas each, or "
                              "check CUDA_VISIBLE_DEVICES");
    }
    return number;
}

}  // namespace

class CudaDevice::Runtime {
public:
    explicit Runtime(int given)
        : number(checked_number(given)),
          pinned(std::make_shared<PinnedBlocks>(number)),
          streams(number, pinned),
          device(streams, memories()),
          compute(device.queue_on(streams.compute)),
          exchange(device.queue_on(streams.exchange)) {}

    const int number;
    const std::shared_ptr<std::function<void()>> give_back =
        std::make_shared<std::function<void()>>();
    const std::shared_ptr<PinnedBlocks> pinned;
    CudaStreams streams;
    StreamDevice device;
    std::unique_ptr<Queue> compute, exchange;

private:
    Memories memories() const {
        const Memory rows = [device = number, give_back = give_back](int64_t bytes) {
            return own(device, bytes, *give_back);
        };
        const Memory host_visible = [blocks = pinned](int64_t bytes) {
            return blocks->take(bytes);
        };
        return {rows, host_visible, Space::device};
    }
};

CudaDevice::CudaDevice(int number) : runtime_(std::make_unique<Runtime>(number)) {}
CudaDevice::~CudaDevice() = default;

void CudaDevice::set_capturing(bool now) { runtime_->device.set_capturing(now); }

int CudaDevice::count() {
    // With too few connections to the GPU, streams wait for each other. CUDA reads this variable
    // when it initialises.
    static const int once = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
    static_cast<void>(once);
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    cudaGetLastError();
    return 0;
}

std::string CudaDevice::why_unavailable() {
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    cudaGetLastError();
    std::string why = result == cudaSuccess ? "none is visible" : cudaGetErrorString(result);
    if (result == cudaErrorInsufficientDriver) {
        int driver = 0, runtime = 0;
        cudaDriverGetVersion(&driver);
        cudaRuntimeGetVersion(&runtime);
        const auto text = [](int version) {
            return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
        };
        why = driver == 0 ? "there is no driver"
                          : "the driver is for CUDA " + text(driver) + ", this program for " +
                                text(runtime);
    }
    if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
        why += "; CUDA_VISIBLE_DEVICES is \"" + std::string(visible) + "\"";
    }
    return why;
}

int CudaDevice::number() const { return runtime_->number; }

std::string CudaDevice::name() const {
    cudaDeviceProp properties{};
    expect(cudaGetDeviceProperties(&properties, number()), "cudaGetDeviceProperties");
    return properties.name;
}

int64_t CudaDevice::free_bytes() const { return static_cast<int64_t>(free_on(number())); }

Place CudaDevice::place() { return {*runtime_->compute, *runtime_->exchange}; }

void* CudaDevice::compute_stream() { return runtime_->streams.compute; }

std::unique_ptr<Queue> CudaDevice::queue_on(void* stream) {
    return runtime_->device.queue_on(stream);
}

void CudaDevice::on_low_memory(std::function<void()> give_back) {
    *runtime_->give_back = std::move(give_back);
}

}  // namespace dbench::arena
