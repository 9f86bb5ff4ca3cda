#pragma once
// A CUDA device of this process: its memory and its queues. Only available in builds with CUDA.
// Users of this header need no CUDA headers.

#include <functional>
#include <memory>
#include <string>

#include "arena/device/place.hpp"
#include "arena/device/queue.hpp"

namespace dbench::arena {

/// One CUDA device. Owns the device's queues; queues and streams must not be used after its
/// destruction.
class CudaDevice {
public:
    /// Opens device `number` of those that this process sees. Throws UserError if it is not
    /// available, RunError if CUDA fails.
    explicit CudaDevice(int number);
    ~CudaDevice();
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    static int count();  ///< Number of devices that this process sees; 0 if there is no driver.
    static std::string why_unavailable();  ///< The reason why there is no device, in CUDA's words.

    int number() const;
    std::string name() const;    ///< The name that the manufacturer gave it.
    int64_t free_bytes() const;  ///< Free device memory in bytes, now.

    /// Returns the device's queues, each with its own stream, and its memory: device memory for
    /// rows (Space::device), and pinned host memory, which kernels read and write in place, for
    /// everything that both the host (for example MPI) and kernels access. Both queues live as long
    /// as this object; blocks of memory may outlive it. The allocator of rows throws UserError if
    /// the request exceeds the free memory. Freed pinned blocks are reused.
    Place place();
    void* compute_stream();  ///< The cudaStream_t of the place's compute queue.
    /// Returns a queue over a stream that the caller owns. The queue must be destroyed before this
    /// object.
    std::unique_ptr<Queue> queue_on(void* stream);

    /// Must be called before (true) and after (false) a stream is captured, by one thread at a
    /// time.
    void set_capturing(bool now);

    /// Sets a function that is called if device memory is exhausted, before the allocation is tried
    /// again; it can free cached memory.
    void on_low_memory(std::function<void()> give_back);

    /// The implementation, which calls CUDA.
    class Runtime;

private:
    std::unique_ptr<Runtime> runtime_;
};

}  // namespace dbench::arena
