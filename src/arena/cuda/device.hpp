#pragma once
// A CUDA device of this process: its memory and its queues. In builds with CUDA; no header of
// CUDA's is needed to use it.

#include <functional>
#include <memory>
#include <string>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

class CudaDevice {
public:
    /// Device `number` of those that this process sees. Throws UserError where it cannot be had,
    /// RunError where CUDA fails.
    explicit CudaDevice(int number);
    ~CudaDevice();
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    static int count();            ///< devices that this process sees; 0 where there is no driver
    static std::string absence();  ///< why there are none, in CUDA's words

    int number() const;
    std::string name() const;    ///< as its maker has it
    int64_t free_bytes() const;  ///< of its memory, now

    /// Each with a stream of its own; they live as long as this does.
    Queues queues();
    void* compute_stream();  ///< the cudaStream_t of Queues::compute
    /// Launches on a stream that somebody else has made; goes before this does.
    std::unique_ptr<Queue> queue_on(void* stream);

    /// Before and after one of the streams is captured, by one thread at a time.
    void capturing(bool now);

    /// For rows (use_memory), in Space::device: the device's own. Blocks may outlive this. It
    /// throws UserError where more is asked for than is free.
    Memory memory();
    /// Called where memory is short: somebody else may give back what it keeps for later.
    void when_short(std::function<void()> give_back);
    /// For `Values` and what else the host reaches, too, as MPI does: the host's memory, pinned,
    /// which kernels read and write where it is. Blocks that were given back are used again.
    Memory pinned_memory();

    /// What the device itself is asked for.
    class Runtime;

private:
    std::unique_ptr<Runtime> runtime_;
};

}  // namespace dbench::arena
