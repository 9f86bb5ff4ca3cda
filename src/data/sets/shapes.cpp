// The data set shapes: figures drawn from the seed, so that a first run needs no download.

#include <utility>

#include "base/streams.hpp"
#include "data/files.hpp"
#include "data/images.hpp"
#include "data/sets/drawing.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

using base::Parameter;
using base::ShapesStream;

// Draws the images of a split. Image k depends on (seed, split, k, difficulty) only, and not on the
// number of images.
Images draw(uint64_t seed, ShapesStream split, int64_t count, double difficulty) {
    Images images{3, kShapeSide, kShapeSide, {}, {}};
    images.pixels.resize(static_cast<size_t>(count * kShapePixels));
    images.labels.resize(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        const base::Random random = base::random_stream(seed, split, k);
        images.labels[k] = draw_shape(random, difficulty, images.pixels.data() + k * kShapePixels);
    }
    return images;
}

struct ShapesSpec {
    int64_t train, test;  ///< Numbers of images.
    double difficulty;

    static const base::Section<ShapesSpec>& section();
};

const base::Section<ShapesSpec>& ShapesSpec::section() {
    static const base::Section<ShapesSpec> keys{
        {Parameter::integer("train", "8000", "training images").at_least(1).at_most(1e7),
         &ShapesSpec::train},
        {Parameter::integer("test", "2000", "test images").at_least(1).at_most(1e7),
         &ShapesSpec::test},
        {Parameter::number("difficulty", "0.5",
                           "0: centred, upright, clear; 1: any place, size, rotation and "
                           "colour, noise and distracting marks")
             .at_least(0)
             .at_most(1),
         &ShapesSpec::difficulty},
    };
    return keys;
}

DataSets make_shapes(const ShapesSpec& spec, const DataSpec& common, const DataContext& context) {
    // Measured over 20000 images of the default difficulty.
    const Normalization measured = {{0.408, 0.408, 0.408}, {0.211, 0.211, 0.211}};
    const auto normalization = chosen_normalization(common.normalize, measured);
    DataSets sets;
    for (const ShapesStream split : {ShapesStream::train, ShapesStream::test}) {
        const bool train = split == ShapesStream::train;
        const char* name = train ? "train" : "test";
        Images images = draw(context.seed, split, train ? spec.train : spec.test, spec.difficulty);
        sets.digests.emplace_back(std::string("shapes ") + name, digest(images.pixels));
        (train ? sets.train : sets.test) =
            image_set(std::move(images), kShapeClasses, normalization);
    }
    return sets;
}

}  // namespace

DataEntry shapes_data() {
    return {"shapes", "figures in 10 classes, 3x32x32, drawn from the seed; needs no files", true,
            make_shapes, nullptr};
}

}  // namespace dbench::data
