#pragma once
// Labelled images in memory: stored as bytes, normalised when a batch is made.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_spec.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// Images and labels of one split, in file order.
struct Images {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<uint8_t> pixels;       ///< (N, C, H, W).
    std::vector<uint16_t> labels;      ///< (N); empty if there are targets.
    std::vector<double> targets = {};  ///< (N), real; empty if there are labels.

    int64_t count() const {
        return static_cast<int64_t>(targets.empty() ? labels.size() : targets.size());
    }
    int64_t numel() const { return channels * height * width; }
};

/// (pixel / 255 - mean) / deviation, per channel.
struct Normalization {
    std::vector<double> mean, deviation;
};

/// Returns mean and standard deviation of all pixels, per channel. The deviation is 1 for a channel
/// whose pixels are all equal.
Normalization measured(const Images& images);

/// Returns `published` for the kind standard, mean 0 and deviation 1 for unit, and the numbers of
/// the spec for given. Throws UserError if these are not as many as the channels of `published`.
Normalization chosen_normalization(const Normalize& chosen, const Normalization& published);

/// The augmentation of one image: a window of the image with kPadding zeros added on each side,
/// possibly mirrored. The zeros are added before normalisation, so the border is black, as with
/// torchvision's RandomCrop on raw images.
struct Crop {
    int64_t top, left;  ///< In 0 .. 2 kPadding.
    bool mirrored;
};
inline constexpr int64_t kPadding = 4;
/// Draws the crop of an augmentation key.
Crop draw_crop(uint64_t augment_key);
/// Returns the crop of `augment_key` as a window of sample `index`; the whole image if the key is
/// 0.
arena::Window window_of(int64_t index, uint64_t augment_key);
/// Writes the window of `image` (C, H, W) to `out`, which has the same shape.
void apply_crop(const Crop& crop, const uint8_t* image, int64_t channels, int64_t height,
                int64_t width, uint8_t* out);

/// Returns a data set of `images`, whose labels are below `classes`; 0 classes: with real targets.
std::shared_ptr<const Dataset> image_set(Images images, int64_t classes,
                                         const Normalization& normalization);

}  // namespace dbench::data
