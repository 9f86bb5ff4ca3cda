#pragma once
// In the place of src/arena/grid/emulated_block.hpp: what an emulated device runs is the block
// that nvcc compiles for a card, with 256 threads that wait for each other at its barriers. Between
// two of these they go on one after another, in any order: threads that race for what another one
// writes meanwhile give other bits than the host.

#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "arena/grid/block.hpp"
#include "arena/grid/poisoned_memory.hpp"
#include "base/error.hpp"

namespace dbench::arena::card {

/// Threads of one block, each with a stack of its own, on a thread of the host.
class Threads {
public:
    static constexpr unsigned kAll = 256;

    /// What they all do; `order` picks who goes first.
    void run(const std::function<void()>& work, uint64_t order) {
        work_ = &work;
        now_ = this;
        for (Thread& thread : threads_) prepare(thread);
        for (unsigned left = kAll; left > 0;) {
            order = order * 6364136223846793005u + 1442695040888963407u;
            const unsigned first = static_cast<unsigned>(order >> 33) % kAll;
            const unsigned step = static_cast<unsigned>(order >> 45) | 1;  // meets all of 256
            const unsigned before = left;
            for (unsigned k = 0; k < kAll; ++k) {
                index = (first + k * step) % kAll;
                if (threads_[index].done) continue;
                swapcontext(&here_, &threads_[index].context);
                if (threads_[index].done) --left;
            }
            DBENCH_EXPECT(left == 0 || left == before);  // else some miss a barrier
        }
        now_ = nullptr;
    }
    static void wait_for_all() {
        Threads& all = *now_;
        const unsigned mine = index;
        swapcontext(&all.threads_[mine].context, &all.here_);
    }

    static inline thread_local unsigned index = 0;

private:
    struct Thread {
        ucontext_t context;
        bool done;
    };
    static constexpr size_t kStack = 64 * 1024;

    void prepare(Thread& thread) {
        thread.done = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = stacks_.get() + (&thread - threads_.data()) * kStack;
        thread.context.uc_stack.ss_size = kStack;
        thread.context.uc_link = &here_;
        makecontext(&thread.context, &Threads::begin, 0);
    }
    static void begin() {
        Threads& all = *now_;
        const unsigned mine = index;
        (*all.work_)();
        all.threads_[mine].done = true;
    }

    static inline thread_local Threads* now_ = nullptr;

    std::unique_ptr<char[]> stacks_ = std::make_unique<char[]>(kAll * kStack);
    std::vector<Thread> threads_ = std::vector<Thread>(kAll);
    ucontext_t here_{};
    const std::function<void()>* work_ = nullptr;
};

}  // namespace dbench::arena::card

// What nvcc declares for a kernel.
#define __CUDA_ARCH__ 900
namespace dbench::arena {
namespace {
struct {
    struct {
        operator unsigned() const { return card::Threads::index; }
    } x;
} threadIdx;
inline void __syncthreads() { card::Threads::wait_for_all(); }
template <class T, class V>
void atomicAdd(T* to, V value) {
    *to += value;
}
}  // namespace
}  // namespace dbench::arena
#include "arena/cuda/device_block.hpp"
#undef __CUDA_ARCH__

namespace dbench::arena {

template <class Body>
void run_emulated(const Body& body, int64_t index, uint64_t order) {
    static_assert(card::Threads::kAll == kThreads);
    PoisonedMemory memory(body.scratch_bytes(), sizeof(DeviceBlock::Stage));
    static thread_local card::Threads threads;
    threads.run(
        [&] {
            DeviceBlock block(memory.scratch(), memory.stage());
            body(block, index);
        },
        order);
}

}  // namespace dbench::arena
