#include "train/batches/resident_images.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "arena/device/host_rows.hpp"
#include "arena/device/memory.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "train/device/device.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kBytes = 256;  // number of values of a byte

/// Allocates one row of at least `bytes` bytes in the memory of the queue's device.
arena::Buffer memory_of(const arena::Queue& queue, int64_t bytes,
                        arena::DType type = arena::DType::float32) {
    const int64_t element = arena::size_of(type);
    return queue.memories().rows(type, 0, 1, (bytes + element - 1) / element);
}

}  // namespace

ResidentImages::ResidentImages(const data::StoredImages& images, arena::DType type,
                               data::Order order, arena::Queue& queue)
    : type_(type),
      planes_(order == data::Order::channels_last ? arena::Planes::last : arena::Planes::first),
      pictures_(images.pictures) {
    const int64_t pixels = pictures_.count * pictures_.numel();
    const int64_t values = pictures_.planes * kBytes * arena::size_of(type);
    const void* const table =
        type == arena::DType::float32 ? static_cast<const void*>(images.single) : images.twice;
    pixels_ = memory_of(queue, pixels);
    values_ = memory_of(queue, values, type);
    arena::fill(pixels_.rows(), images.pictures.bytes, pixels, queue);
    arena::fill(values_.rows(), table, values, queue);
    pictures_.bytes = static_cast<const uint8_t*>(pixels_.rows().data);
}

void* ResidentImages::gather(std::span<const arena::Window> windows, size_t slot,
                             arena::Queue& queue) {
    if (inputs_.size() <= slot) inputs_.resize(slot + 1);
    arena::Buffer& inputs = inputs_[slot];
    const int64_t bytes = std::ssize(windows) * pictures_.numel() * arena::size_of(type_);
    if (inputs.bytes() < bytes) {
        arena::keep(queue, std::make_shared<arena::Buffer>(std::move(inputs)));
        inputs = memory_of(queue, bytes, type_);
    }
    const auto held =
        std::make_shared<arena::HostVisibleArray<arena::Window>>(queue.memories().copy_of(windows));
    arena::gather_windows(pictures_, *held, values_.rows().data, type_, planes_, inputs.rows().data,
                          queue);
    arena::keep(queue, held);
    return inputs.rows().data;
}

Residence choose_residence(data::Resident wanted, const data::Dataset& train, const Device& device,
                           arena::DType type, int64_t samples) {
    const bool asked = wanted == data::Resident::on;
    const auto refuse = [asked](const std::string& reason) -> Residence {
        if (asked) {
            throw base::UserError("/data/resident: the samples cannot be stored on the device (" +
                                  reason + "): leave it out");
        }
        return {false, reason};
    };
    if (wanted == data::Resident::off) return {};
    if (device.is_host()) return asked ? refuse("this run is on the CPU") : Residence{};
    const auto images = train.stored();
    if (!images)
        return refuse(
            "they are made on the host; only images in memory can be gathered on the device");
    const int64_t numel = images->pictures.numel();
    const int64_t bytes = images->pictures.count * numel + samples * numel * arena::size_of(type) +
                          images->pictures.planes * kBytes * arena::size_of(type);
    const auto memory_info = device.memory_info();
    const int64_t free = memory_info ? memory_info->free / device.ranks_per_gpu() : bytes;
    const int64_t most = memory_info && !asked ? free / 2 : free;
    if (bytes > most) {
        return refuse("they need " + base::bytes_text(static_cast<double>(bytes)) + " of " +
                      base::bytes_text(static_cast<double>(free)) + " free" +
                      (device.ranks_per_gpu() > 1 ? " for each rank on the GPU" : ""));
    }
    return {true, "", bytes};
}

std::string to_text(const Residence& residence) {
    if (residence.on) {
        return "on (" + base::bytes_text(static_cast<double>(residence.bytes)) + ")";
    }
    return residence.reason.empty() ? "off" : "off (" + residence.reason + ")";
}

}  // namespace dbench::train
