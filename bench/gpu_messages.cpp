// Rows over NCCL between cards: kHelp says what is done.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "comm/nccl/nccl_transport.hpp"
#include "comm/transport/launcher.hpp"
#include "comm/world/world.hpp"
#if DBENCH_CUDA
#include <cuda_runtime_api.h>

#include "arena/cuda/device.hpp"
#endif

namespace {

using namespace dbench;

constexpr int kNoCard = 77;
constexpr const char* kHelp =
    R"(Rows over NCCL between cards, a rank for each; one rank sends to itself. Every rank sends random
rows to the next and sums others with all, over the plane that training uses, and compares bits.

  bench_gpu_messages [ROUNDS]      default: 20; under mpirun -n N for N cards

Exit status: 0; 1: NCCL failed, or other bits came; 2: wrong words; 77: there is no card.
)";

#if DBENCH_CUDA
constexpr int64_t kCount = 1 << 20;  // elements of a row

void expect(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw base::RunError(std::string(what) + " failed: " + cudaGetErrorString(result));
}

/// Whole numbers, whose sums are exact in any order.
std::vector<float> row_of(int rank, int round) {
    base::Random random(1, base::Purpose::message,
                        {static_cast<uint64_t>(rank), static_cast<uint64_t>(round)});
    std::vector<float> values(kCount);
    for (float& value : values) value = static_cast<float>(random.below(1000));
    return values;
}

void wait(comm::Transfer& transfer) {
    while (!transfer.test()) {
    }
}

struct Row {
    std::shared_ptr<void> memory;
    explicit Row(const arena::Memory& from) : memory(from(kCount * sizeof(float))) {}
    void set(const std::vector<float>& values) {
        expect(cudaMemcpy(memory.get(), values.data(), kCount * sizeof(float), cudaMemcpyDefault),
               "cudaMemcpy");
        expect(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // a copy may return before
    }
    std::vector<float> get() const {
        std::vector<float> values(kCount);
        expect(cudaMemcpy(values.data(), memory.get(), kCount * sizeof(float), cudaMemcpyDefault),
               "cudaMemcpy");
        return values;
    }
};

bool one_round(comm::World& world, comm::RowTransport& plane, Row& from, Row& to, int round) {
    const int ranks = world.size(), me = world.rank();
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    const auto bytes = static_cast<int64_t>(kCount * sizeof(float));
    const std::vector<float> nothing(kCount, -1.0f);
    from.set(row_of(me, round));
    to.set(nothing);
    const comm::Message out{next, round, from.memory.get(), bytes};
    const comm::Message in{before, round, to.memory.get(), bytes};
    wait(*plane.start({&out, 1}, {&in, 1}));
    bool good = to.get() == row_of(before, round);
    to.set(nothing);
    wait(*plane.start_sum(arena::DType::float32, from.memory.get(), to.memory.get(), kCount));
    std::vector<float> sum(kCount);
    for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> row = row_of(rank, round);
        for (size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
    }
    good = good && to.get() == sum;
    return good;
}

int exchange(comm::World& world, int rounds) {
    int cards = 0;
    if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) {
        std::fprintf(stderr, "bench_gpu_messages: no card\n");
        return kNoCard;
    }
    const int card = world.local_rank() % cards;  // some launchers show each rank its own
    arena::CudaDevice device(card);
    const auto queue_on = [&](comm::CudaStream* stream) { return device.queue_on(stream); };
    const auto plane =
        comm::join_nccl(world, {comm::load_nccl(), comm::load_cuda(), queue_on}, card);
    Row from(device.memory()), to(device.memory());
    bool good = true;
    for (int round = 0; round < rounds; ++round) {
        good = one_round(world, *plane, from, to, round) && good;
    }
    std::printf("rank %d of %d: %d rounds over NCCL: %s\n", world.rank(), world.size(), rounds,
                good ? "same" : "differs");
    return good ? 0 : base::kExitFailed;
}
#else
int exchange(comm::World&, int) {
    std::fprintf(stderr, "bench_gpu_messages: no card (this is a build without CUDA)\n");
    return kNoCard;
}
#endif

}  // namespace

int main(int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "20";
    if (first == "-h" || first == "--help") {
        std::fputs(kHelp, stdout);
        return 0;
    }
    const int rounds = std::atoi(first.c_str());
    if (argc > 2 || rounds < 1) {
        std::fprintf(stderr, "bench_gpu_messages: [ROUNDS], a number of 1 at least (--help)\n");
        return base::kExitUser;
    }
    try {
        comm::World world{comm::launch()};
        return exchange(world, rounds);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_gpu_messages: %s\n", error.what());
        return base::kExitFailed;
    }
}
