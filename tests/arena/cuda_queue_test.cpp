// Tests of every kernel on a CUDA device. Skipped if there is none.

#include <algorithm>
#include <cmath>
#include <memory>

#include "arena/device/queue.hpp"
#include "arena/kernel_cases.hpp"
#include "catch.hpp"
#if DBENCH_CUDA
#include "arena/cuda/device.hpp"
#endif

namespace dbench::arena {
namespace {

#if DBENCH_CUDA

bool skipped() {
    if (CudaDevice::count() > 0) return false;
    WARN("skipped: no CUDA device");
    return true;
}

TEST_CASE("every kernel gives the host's bits on a CUDA device") {
    if (skipped()) return;
    CudaDevice device(0);
    const Place place = device.place();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t all = ragged_layout().columns();
    const Columns columns =
        GENERATE_COPY(Columns{0, all}, Columns{16, 32}, Columns{4096 + 16, all - 16});
    const cases::Material before(type, columns);
    for (const cases::Case& kernel : cases::kKernels) {
        INFO(kernel.name << ", columns " << columns.begin << " to " << columns.end);
        cases::Material host(before);
        kernel.run(host, host_queue());
        for (Queue* const queue : {&place.compute(), &place.exchange()}) {
            cases::Material there(before, place.memories());
            kernel.run(there, *queue);
            finish(*queue, "a kernel");
            const bool same = there == host;
            CHECK(same);
        }
    }
}

TEST_CASE("queues of a CUDA device respect events and keep memory alive until launches have run") {
    if (skipped()) return;
    CudaDevice device(0);
    const Place place = device.place();
    constexpr int64_t kColumns = int64_t{1} << 20;
    const Buffer x = place.host_visible_rows(DType::float64, 0, 1, kColumns);
    const Buffer y = place.host_visible_rows(DType::float64, 0, 1, kColumns);
    double* const first = x.rows().row<double>(0);
    std::fill_n(first, kColumns, 1.0);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> still(memory);
    for (int k = 0; k < 20; ++k) {
        scale(x.rows(), {0, kColumns}, 2, place.compute());
        order(place.compute(), place.exchange(), "scaled");
        scale(x.rows(), {0, kColumns}, 0.75, place.exchange());
        order(place.exchange(), place.compute(), "scaled");
    }
    copy(x.rows(), y.rows(), {0, kColumns}, place.compute());
    keep(place.compute(), std::move(memory));
    finish(place.compute(), "a copy");
    CHECK(still.expired());
    const double expected = std::pow(1.5, 20);
    const double* const copied = y.rows().row<double>(0);
    CHECK(std::all_of(copied, copied + kColumns, [&](double v) { return v == expected; }));
}

#else

TEST_CASE("every kernel gives the host's bits on a CUDA device") {
    WARN("skipped: this build has no CUDA");
}

#endif

}  // namespace
}  // namespace dbench::arena
