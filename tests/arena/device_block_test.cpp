// Tests of the loops of a block on a GPU. The threads run one after another on the host. Every
// iteration must be executed by exactly one thread.

#include <utility>
#include <vector>

#include "arena/grid/block.hpp"
#include "catch.hpp"

// Declarations that nvcc provides in a kernel.
#define __CUDA_ARCH__ 900
namespace {
struct {
    unsigned x;
} threadIdx;
inline void __syncthreads() {}
template <class T, class V>
void atomicAdd(T* to, V value) {
    *to += value;
}
}  // namespace
#include "arena/cuda/device_block.hpp"
#undef __CUDA_ARCH__

namespace dbench::arena {
namespace {

/// Returns how often each of `count` iterations is executed if all threads of a block run `loop`.
template <class Loop>
std::vector<int> times(int64_t count, const Loop& loop) {
    std::vector<int> done(static_cast<size_t>(count));
    for (threadIdx.x = 0; threadIdx.x < kThreads; ++threadIdx.x) {
        loop(DeviceBlock(nullptr, nullptr), done);
    }
    return done;
}

std::vector<int> once(int64_t count) { return std::vector<int>(static_cast<size_t>(count), 1); }

TEST_CASE("GPU threads share the iterations of a loop") {
    STATIC_REQUIRE(kThreads == 256);
    STATIC_REQUIRE(DeviceBlock::kManyThreads);
    for (const int64_t count : {0, 1, 31, 255, 256, 257, 4096, 5000}) {
        CHECK(once(count) == times(count, [&](DeviceBlock block, auto& done) {
                  block.for_each(count, [&](int64_t c) { ++done[static_cast<size_t>(c)]; });
              }));
    }
    CHECK(once(21) == times(21, [](DeviceBlock block, auto& done) {
              block.for_groups<3>(
                  7, [&](int64_t g, int j) { ++done[static_cast<size_t>(3 * g + j)]; });
          }));
}

TEST_CASE("GPU threads share rows and columns") {
    for (const int64_t rows : {1, 2, 7, 300}) {
        for (const int64_t count : {1, 5, 64, 255, 256, 257, 1000}) {
            INFO(rows << " rows of " << count);
            const auto at = [count](auto& done, int64_t i, int64_t c) -> int& {
                return done[static_cast<size_t>(i * count + c)];
            };
            CHECK(once(rows * count) == times(rows * count, [&](DeviceBlock block, auto& done) {
                      block.for_rows(rows, count, [&](int64_t i) {
                          return [&, i](int64_t c) { ++at(done, i, c); };
                      });
                  }));
            CHECK(once(rows * count) == times(rows * count, [&](DeviceBlock block, auto& done) {
                      const auto read = [&](int64_t i) {
                          return [&, i](int64_t c) { return i * count + c; };
                      };
                      const auto work = [&](int64_t i) {
                          return [&, i](int64_t c, int64_t value) {
                              done[static_cast<size_t>(value)] += value == i * count + c;
                          };
                      };
                      block.for_rows(rows, count, read, work);
                  }));
        }
    }
}

/// Calls use(c) for one element, or for each element of a pack.
template <class Use>
void each(int64_t c, const Use& use) {
    use(c);
}
template <int kCount, class Use>
void each(PackIndex<kCount> c, const Use& use) {
    REQUIRE(c.first % kCount == 0);
    for (int k = 0; k < kCount; ++k) use(c.first + k);
}

TEST_CASE("GPU threads share packs and the remaining elements of a row") {
    for (const int64_t rows : {1, 3, 8, 16, 40}) {
        for (const int64_t count : {1, 3, 4, 16, 130, 512, 1000, 1027, 4096}) {
            INFO(rows << " rows of " << count);
            CHECK(once(rows * count) == times(rows * count, [&](DeviceBlock block, auto& done) {
                      block.for_packs<float>(rows, count, [&](int64_t i) {
                          return [&, i](auto c) {
                              each(c,
                                   [&](int64_t k) { ++done[static_cast<size_t>(i * count + k)]; });
                          };
                      });
                  }));
            CHECK(once(rows * count) == times(rows * count, [&](DeviceBlock block, auto& done) {
                      const auto read = [&](int64_t i) {
                          return [&, i](auto c) { return std::pair{i, c}; };
                      };
                      const auto work = [&](int64_t i) {
                          return [&, i](auto c, const auto& taken) {
                              each(c, [&](int64_t k) {
                                  int64_t first = -1;
                                  each(taken.second, [&](int64_t of) {
                                      if (of == k) first = of;
                                  });
                                  done[static_cast<size_t>(i * count + k)] +=
                                      taken.first == i && first == k;
                              });
                          };
                      };
                      block.for_packs<double>(rows, count, read, work);
                  }));
        }
    }
}

}  // namespace
}  // namespace dbench::arena
