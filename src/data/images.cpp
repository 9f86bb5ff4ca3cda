#include "data/images.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace dbench::data {
namespace {

template <class T>
using Table = std::array<T, 256>;  // The normalised value of each byte.

template <class T>
std::vector<Table<T>> tables_of(const Normalization& normalization) {
    std::vector<Table<T>> tables(normalization.mean.size());
    for (size_t c = 0; c < tables.size(); ++c) {
        for (int byte = 0; byte < 256; ++byte) {
            const double value =
                (byte / 255.0 - normalization.mean[c]) / normalization.deviation[c];
            tables[c][byte] = static_cast<T>(value);
        }
    }
    return tables;
}

std::vector<double> one_per_channel(const std::vector<double>& given, size_t channels,
                                    const std::string& key) {
    if (given.size() == channels) return given;
    if (given.size() == 1) return std::vector<double>(channels, given.front());
    throw base::UserError("/data/normalize/" + key + ": has " + std::to_string(given.size()) +
                          " numbers, but the images have " + std::to_string(channels) +
                          (channels == 1 ? " channel" : " channels") +
                          ": give one number per channel, or one for all");
}

class ImageSet : public Dataset {
public:
    ImageSet(Images images, int64_t classes, const Normalization& normalization)
        : images_(std::move(images)),
          classes_(classes),
          single_(tables_of<float>(normalization)),
          double_(tables_of<double>(normalization)) {
        DBENCH_EXPECT(static_cast<int64_t>(single_.size()) == images_.channels);
        DBENCH_EXPECT(classes_ > 0 ? images_.targets.empty() : images_.labels.empty());
        DBENCH_EXPECT(static_cast<int64_t>(images_.pixels.size()) ==
                      images_.count() * images_.numel());
    }

    int64_t size() const override { return images_.count(); }
    std::vector<int64_t> shape() const override {
        return {images_.channels, images_.height, images_.width};
    }
    int64_t classes() const override { return classes_; }
    int64_t label(int64_t index) const override {
        DBENCH_EXPECT(classes_ > 0);
        return images_.labels[index];
    }
    double target(int64_t index) const override {
        return classes_ > 0 ? static_cast<double>(label(index)) : images_.targets[index];
    }
    std::optional<StoredImages> stored() const override {
        return StoredImages{{images_.pixels.data(), images_.count(), images_.channels,
                             images_.height, images_.width},
                            single_.front().data(),
                            double_.front().data()};
    }

    void input(int64_t index, arena::DType type, Order order, uint64_t augment_key,
               void* out) const override {
        DBENCH_EXPECT(index >= 0 && index < size());
        const uint8_t* pixels = images_.pixels.data() + index * images_.numel();
        if (augment_key != 0) {
            thread_local std::vector<uint8_t> cropped;
            cropped.resize(images_.numel());
            apply_crop(draw_crop(augment_key), pixels, images_.channels, images_.height,
                       images_.width, cropped.data());
            pixels = cropped.data();
        }
        if (type == arena::DType::float32) {
            write(pixels, single_, order, static_cast<float*>(out));
        } else {
            write(pixels, double_, order, static_cast<double*>(out));
        }
    }

private:
    template <class T>
    void write(const uint8_t* pixels, const std::vector<Table<T>>& tables, Order order,
               T* out) const {
        const int64_t area = images_.height * images_.width;
        const int64_t step = order == Order::channels_last ? images_.channels : 1;
        for (int64_t c = 0; c < images_.channels; ++c) {
            const Table<T>& table = tables[c];
            const uint8_t* from = pixels + c * area;
            T* to = out + (order == Order::channels_last ? c : c * area);
            for (int64_t p = 0; p < area; ++p) to[p * step] = table[from[p]];
        }
    }

    Images images_;
    int64_t classes_;
    std::vector<Table<float>> single_;
    std::vector<Table<double>> double_;
};

}  // namespace

Normalization measured(const Images& images) {
    Normalization out;
    const int64_t area = images.height * images.width;
    const double count = static_cast<double>(images.count() * area);
    for (int64_t c = 0; c < images.channels; ++c) {
        uint64_t sum = 0, squares = 0;  // Exact: below 2^64 for 2^48 pixels.
        for (int64_t k = 0; k < images.count(); ++k) {
            const uint8_t* plane = images.pixels.data() + (k * images.channels + c) * area;
            for (int64_t p = 0; p < area; ++p) {
                sum += plane[p];
                squares += uint64_t{plane[p]} * plane[p];
            }
        }
        const double mean = static_cast<double>(sum) / count;
        const double variance = static_cast<double>(squares) / count - mean * mean;
        out.mean.push_back(mean / 255);
        out.deviation.push_back(variance > 0 ? std::sqrt(variance) / 255 : 1);
    }
    return out;
}

Normalization chosen_normalization(const Normalize& chosen, const Normalization& published) {
    if (chosen.kind == Normalize::Kind::standard) return published;
    const size_t channels = published.mean.size();
    if (chosen.kind == Normalize::Kind::given) {
        return {one_per_channel(chosen.mean, channels, "mean"),
                one_per_channel(chosen.deviation, channels, "deviation")};
    }
    return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
}

Crop draw_crop(uint64_t augment_key) {
    base::Random random(augment_key, base::Purpose::augment);
    Crop crop{};
    crop.top = static_cast<int64_t>(random.below(2 * kPadding + 1));
    crop.left = static_cast<int64_t>(random.below(2 * kPadding + 1));
    crop.mirrored = (random.bits() & 1) != 0;
    return crop;
}

arena::Window window_of(int64_t index, uint64_t augment_key) {
    if (augment_key == 0) return {index, 0, 0, false};
    const Crop crop = draw_crop(augment_key);
    return {index, static_cast<int32_t>(crop.top - kPadding),
            static_cast<int32_t>(crop.left - kPadding), crop.mirrored};
}

void apply_crop(const Crop& crop, const uint8_t* image, int64_t channels, int64_t height,
                int64_t width, uint8_t* out) {
    std::memset(out, 0, static_cast<size_t>(channels * height * width));
    const int64_t down = crop.top - kPadding, right = crop.left - kPadding;
    // Columns of the window that are inside the image.
    const int64_t first = right < 0 ? -right : 0;
    const int64_t last = right > 0 ? width - right : width;
    for (int64_t c = 0; c < channels; ++c) {
        for (int64_t y = 0; y < height; ++y) {
            const int64_t row = y + down;
            if (row < 0 || row >= height) continue;
            const uint8_t* from = image + (c * height + row) * width + right;
            uint8_t* to = out + (c * height + y) * width;
            if (crop.mirrored) {
                for (int64_t x = first; x < last; ++x) to[width - 1 - x] = from[x];
            } else if (first < last) {
                std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
            }
        }
    }
}

std::shared_ptr<const Dataset> image_set(Images images, int64_t classes,
                                         const Normalization& normalization) {
    return std::make_shared<ImageSet>(std::move(images), classes, normalization);
}

}  // namespace dbench::data
