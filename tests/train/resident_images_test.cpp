// Tests of the choice of training sets that a device stores, and of the minibatches that it makes
// from them.

#include "train/batches/resident_images.hpp"

#include "arena/emulated_device.hpp"
#include "catch.hpp"
#include "data/images.hpp"
#include "data/support.hpp"
#include "train/device/device.hpp"

namespace dbench::train {
namespace {

using Catch::Matchers::ContainsSubstring;
using data::Resident;

/// A device that reports `free` bytes of free memory.
class DeviceWithFreeMemory final : public Device {
public:
    explicit DeviceWithFreeMemory(int64_t free, int ranks_per_gpu = 1)
        : free_(free), ranks_per_gpu_(ranks_per_gpu), queue_(device_.add_queue()) {}
    arena::Place place() const override { return {queue_, queue_}; }
    std::optional<MemoryInfo> memory_info() const override { return MemoryInfo{2 * free_, free_}; }
    int ranks_per_gpu() const override { return ranks_per_gpu_; }
    arena::EmulatedDevice& emulated() { return device_; }

private:
    int64_t free_;
    int ranks_per_gpu_;
    arena::EmulatedDevice device_{1};
    arena::Queue& queue_;
};

std::shared_ptr<const data::Dataset> train_set(const char* spec) {
    return data::load_data(test::data_spec(spec), {1, 1}).train;
}

TEST_CASE("Images are stored on a device if they need half of its free memory, or on request") {
    const auto shapes = train_set(R"({"type": "shapes", "train": 20, "test": 1})");
    const auto numbers = train_set(R"({"type": "regression"})");
    const int64_t numel = 3 * 32 * 32, needed = 20 * numel + 7 * numel * 8 + 3 * 256 * 8;
    const auto chosen = [&](Resident wanted, const data::Dataset& set, const Device& device) {
        return choose_residence(wanted, set, device, arena::DType::float64, 7);
    };
    const DeviceWithFreeMemory enough(2 * needed), little(2 * needed - 2), none(needed - 1);
    CHECK(chosen(Resident::automatic, *shapes, enough).on);
    CHECK(chosen(Resident::automatic, *shapes, enough).bytes == needed);
    CHECK(chosen(Resident::automatic, *shapes, DeviceWithFreeMemory(4 * needed, 2)).on);
    CHECK_THAT(to_text(chosen(Resident::automatic, *shapes, DeviceWithFreeMemory(2 * needed, 2))),
               ContainsSubstring("for each rank on the GPU"));
    CHECK_FALSE(chosen(Resident::off, *shapes, enough).on);
    CHECK_FALSE(chosen(Resident::automatic, *shapes, little).on);
    CHECK_THAT(to_text(chosen(Resident::automatic, *shapes, little)),
               ContainsSubstring("off (") && ContainsSubstring(" free)"));
    CHECK(chosen(Resident::on, *shapes, little).on);
    CHECK_THROWS_WITH(chosen(Resident::on, *shapes, none),
                      ContainsSubstring("/data/resident") && ContainsSubstring("leave it out"));
    CHECK_THAT(to_text(chosen(Resident::automatic, *numbers, enough)),
               ContainsSubstring("the host"));
    CHECK_THROWS_WITH(chosen(Resident::on, *numbers, enough), ContainsSubstring("the host"));
    CHECK(to_text(chosen(Resident::automatic, *shapes, host_device())) == "off");
    CHECK_THROWS_WITH(chosen(Resident::on, *shapes, host_device()), ContainsSubstring("CPU"));
}

TEST_CASE("Minibatches of a slot follow each other, larger ones too, and slots are separate") {
    const auto shapes = train_set(R"({"type": "shapes", "train": 20, "test": 1})");
    DeviceWithFreeMemory device(1);
    arena::Queue& queue = device.place().compute();
    ResidentImages images(*shapes->stored(), arena::DType::float64, data::Order::channels_last,
                          arena::host_queue());
    for (const int64_t count : {2, 5, 3}) {
        std::vector<arena::Window> windows;
        std::vector<double> right;
        for (int64_t k = 0; k < count; ++k) {
            const auto key = static_cast<uint64_t>(k * count);
            windows.push_back(data::window_of(3 * k, key));
            const auto one = test::input_of(*shapes, 3 * k, data::Order::channels_last, key);
            right.insert(right.end(), one.begin(), one.end());
        }
        const auto* const first = static_cast<double*>(images.gather(windows, 0, queue));
        const auto* const second = static_cast<double*>(images.gather(windows, 1, queue));
        windows.clear();  // the launches have their own copy
        device.emulated().finish();
        CHECK(std::equal(right.begin(), right.end(), first));
        CHECK(std::equal(right.begin(), right.end(), second));
    }
    CHECK(device.emulated().conflicts().empty());
}

}  // namespace
}  // namespace dbench::train
