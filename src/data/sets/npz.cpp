// The data set npz: the user's own arrays in .npz files of NumPy; x holds the samples, y their
// labels or targets. With `inputs`, several arrays hold the parts of a sample.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/npy.hpp"
#include "data/class_coverage.hpp"
#include "data/files.hpp"
#include "data/images.hpp"
#include "data/numbers.hpp"
#include "data/sets/sets.hpp"
#include "data/zip.hpp"

namespace dbench::data {
namespace {

using base::Json;
using base::NpyArray;
using base::Parameter;
using base::UserError;

constexpr size_t kMostNumbers = size_t{1} << 32;

// An array of a file, with the names for errors.
struct Array {
    std::string key, path, content;
    NpyArray array;

    int64_t length() const { return static_cast<int64_t>(array.shape.at(0)); }
    /// Numbers of one sample.
    int64_t features() const {
        int64_t all = 1;
        for (size_t k = 1; k < array.shape.size(); ++k) all *= static_cast<int64_t>(array.shape[k]);
        return all;
    }
    [[noreturn]] void refuse(const std::string& problem) const {
        throw UserError(key + ": " + path + ": " + problem);
    }
};

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text += (text.empty() ? "" : ", ") + name.substr(0, name.rfind(".npy"));
    }
    return text.empty() ? "nothing" : text;
}

// Returns the first of `names` that the file holds; errors name the last.
Array array_of(const Zip& file, const std::string& key, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (!file.has(name + ".npy")) continue;
        Array out{key, file.path() + ", " + name, file.read(name + ".npy"), {}};
        out.array = base::parse_npy(out.content, key + ": " + out.path, kMostNumbers);
        if (out.array.shape.empty()) out.refuse("is a single number: save an array of samples");
        if (out.array.fortran_order && out.array.shape.size() > 1) {
            out.refuse("is in Fortran order: save numpy.ascontiguousarray of it");
        }
        return out;
    }
    throw UserError(key + ": " + file.path() + " has no array " + names.back() + " (it holds " +
                    listed(file.names()) + "): save it with numpy.savez(FILE, " + names.back() +
                    "=..., ...)");
}

struct Split {
    std::vector<Array> inputs;  ///< x, or the arrays that `inputs` names.
    Array y;

    const Array& x() const { return inputs.front(); }
};

Split read_split_npz(const Zip& file, const std::string& split, bool own_file,
                     const std::vector<std::string>& inputs) {
    const auto names = [&](const std::string& array) {
        std::vector<std::string> all{array + "_" + split};
        // The split's own array is first: one file may hold x and x_test, and be named twice.
        if (own_file) all.push_back(array);
        return all;
    };
    const std::string key = "/data/" + (own_file ? split : std::string("train"));
    std::vector<Array> read;
    for (const std::string& name : inputs.empty() ? std::vector<std::string>{"x"} : inputs) {
        read.push_back(array_of(file, key, names(name)));
    }
    Split out{std::move(read), array_of(file, key, names("y"))};
    const auto& shape = out.y.array.shape;
    if (shape.size() > 2 || (shape.size() == 2 && shape[1] != 1)) {
        out.y.refuse(
            "has more than one number per sample: save labels as whole numbers, y.argmax(1)");
    }
    for (size_t k = 0; k < out.inputs.size(); ++k) {
        if (out.y.length() == out.inputs[k].length()) continue;
        out.y.refuse("has " + std::to_string(out.y.length()) + " entries for " +
                     std::to_string(out.inputs[k].length()) + " samples in " +
                     (inputs.empty() ? "x" : inputs[k]));
    }
    return out;
}

// The shape of one sample, {C, H, W} or {features}, and whether the file stores channels last.
struct Shape {
    std::vector<int64_t> lengths;
    bool channels_last = false;
    bool image() const { return lengths.size() == 3; }
    int64_t numel() const {
        int64_t all = 1;
        for (const int64_t length : lengths) all *= length;
        return all;
    }
};

enum class ChannelOrder : uint8_t { automatic, first, last };

Shape shape_of(const Array& x, ChannelOrder layout) {
    std::vector<int64_t> lengths(x.array.shape.begin() + 1, x.array.shape.end());
    if (lengths.empty()) return {{1}};
    if (lengths.size() == 1) return {lengths};
    if (lengths.size() == 2) return {{1, lengths[0], lengths[1]}};
    if (lengths.size() > 3) x.refuse("has more than four dimensions: reshape it to (N, features)");
    const auto channels = [](int64_t length) { return length == 1 || length == 3; };
    const bool first = channels(lengths[0]), last = channels(lengths[2]);
    if (layout == ChannelOrder::automatic && first == last) {
        x.refuse("may have its channels first or last: set /data/layout");
    }
    if (layout == ChannelOrder::first || (layout == ChannelOrder::automatic && first))
        return {lengths};
    return {{lengths[2], lengths[0], lengths[1]}, true};
}

// Returns the position, in a sample of the file, of the element with number `k` of (C, H, W).
int64_t place_of(const Shape& shape, int64_t k) {
    if (!shape.channels_last) return k;
    const int64_t area = shape.lengths[1] * shape.lengths[2];
    return k % area * shape.lengths[0] + k / area;
}

// Returns real targets and 0, or labels and the number of classes.
std::pair<std::vector<double>, int64_t> targets_of(const Array& y) {
    constexpr double kMostLabel = 65535;
    std::vector<double> values;
    const auto read = y.array.reader();
    double most = 0;
    for (int64_t k = 0; k < y.length(); ++k) {
        const double value = read(y.array.data.data() + k * static_cast<int64_t>(y.array.width()));
        if (!std::isfinite(value)) y.refuse("entry " + std::to_string(k) + " is not finite");
        if (!y.array.real() && (value < 0 || value > kMostLabel)) {
            y.refuse("label " + std::to_string(k) + " is " + std::to_string(int64_t(value)) +
                     ": labels are 0 to 65535 (real targets are saved as floats)");
        }
        most = std::max(most, value);
        values.push_back(value);
    }
    return {std::move(values), y.array.real() ? 0 : static_cast<int64_t>(most) + 1};
}

// `classes`: 0 if `targets` are real targets and not labels.
Images images_of(const Array& x, const Shape& shape, std::vector<double> targets, int64_t classes) {
    Images images;
    images.channels = shape.lengths[0];
    images.height = shape.lengths[1];
    images.width = shape.lengths[2];
    if (classes > 0) {
        images.labels.assign(targets.begin(), targets.end());
    } else {
        images.targets = std::move(targets);
    }
    const int64_t numel = shape.numel();
    images.pixels.resize(static_cast<size_t>(x.length() * numel));
    const auto* bytes = reinterpret_cast<const uint8_t*>(x.array.data.data());
    for (int64_t at = 0; at < x.length() * numel; at += numel) {
        for (int64_t k = 0; k < numel; ++k) {
            images.pixels[static_cast<size_t>(at + k)] = bytes[at + place_of(shape, k)];
        }
    }
    return images;
}

std::shared_ptr<const Dataset> numbers_of(const Array& x, const Shape& shape,
                                          std::vector<double> targets, int64_t classes) {
    const auto read = x.array.reader();
    const auto width = static_cast<int64_t>(x.array.width()), numel = shape.numel();
    std::vector<double> values;
    values.reserve(static_cast<size_t>(x.length() * numel));
    for (int64_t k = 0; k < x.length() * numel; ++k) {
        const int64_t place = k / numel * numel + place_of(shape, k % numel);
        values.push_back(read(x.array.data.data() + place * width));
        if (!std::isfinite(values.back())) {
            x.refuse("sample " + std::to_string(k / numel) + " holds a number that is not finite");
        }
    }
    return number_set(std::move(values), shape.lengths, std::move(targets), classes);
}

/// Returns the set whose samples are lists of features: the elements of all arrays, one array after
/// another.
std::shared_ptr<const Dataset> joined_set(const std::vector<Array>& inputs,
                                          std::vector<double> targets, int64_t classes) {
    constexpr double kMostExact = 1 << 24;  // Larger whole numbers are rounded in float32.
    const int64_t samples = inputs.front().length();
    int64_t features = 0;
    for (const Array& each : inputs) features += each.features();
    if (samples > 0 && features > static_cast<int64_t>(kMostNumbers) / samples) {
        inputs.front().refuse("holds too many numbers together with the other inputs");
    }
    std::vector<double> values(static_cast<size_t>(samples * features));
    int64_t first = 0;
    for (const Array& each : inputs) {
        const auto read = each.array.reader();
        const auto width = static_cast<int64_t>(each.array.width()), own = each.features();
        for (int64_t k = 0; k < samples * own; ++k) {
            const double value = read(each.array.data.data() + k * width);
            const std::string sample = "sample " + std::to_string(k / own);
            if (!std::isfinite(value)) each.refuse(sample + " holds a number that is not finite");
            if (!each.array.real() && std::abs(value) > kMostExact) {
                each.refuse(sample + " holds " + std::to_string(static_cast<int64_t>(value)) +
                            ", but whole numbers of inputs are at most 2^24: save them as floats");
            }
            values[static_cast<size_t>(k / own * features + first + k % own)] = value;
        }
        first += own;
    }
    return number_set(std::move(values), {features}, std::move(targets), classes);
}

void refuse_of_numbers(const DataSpec& common, const Array& x) {
    const std::string why =
        " is for images of bytes, but " + x.path + " is of type " + x.array.kind + ": ";
    if (common.augment) throw UserError("/data/augment:" + why + "leave it false");
    if (common.normalize.kind != Normalize::Kind::standard) {
        throw UserError("/data/normalize:" + why + "leave it out");
    }
}

struct NpzSpec {
    std::string train;
    std::optional<std::string> test;  ///< Empty: the file of `train`.
    ChannelOrder layout;
    std::vector<std::string> inputs;  ///< Names of arrays; empty: x.

    static const base::Section<NpzSpec>& section();
};

Json resolve_inputs(const Json& given, const std::string& pointer) {
    const auto text = [](const Json& each) {
        return each.is_string() && !each.get<std::string>().empty();
    };
    if (!given.is_null() &&
        (!given.is_array() || given.empty() || !std::ranges::all_of(given, text))) {
        throw UserError(pointer + ": must be null or a list of names of arrays (found " +
                        base::short_text(given) + "): write for example [\"ids\", \"mask\"]");
    }
    return given;
}

void set_inputs(NpzSpec& spec, const Json& value) {
    if (value.is_array()) spec.inputs = value.get<std::vector<std::string>>();
}

const base::Section<NpzSpec>& NpzSpec::section() {
    static const base::Section<NpzSpec> keys{
        {Parameter::text("train", "", "the file, which holds x and y, or x_train and y_train"),
         &NpzSpec::train},
        {Parameter::text(
             "test", "null",
             "the file, which holds x and y, or x_test and y_test; null: the file of train")
             .or_null(),
         &NpzSpec::test},
        {base::Words<ChannelOrder>(
             "layout",
             {{"auto", ChannelOrder::automatic},
              {"channels_first", ChannelOrder::first},
              {"channels_last", ChannelOrder::last}},
             ChannelOrder::automatic,
             "of images: (N, C, H, W) or (N, H, W, C); auto: by the axis of length 1 or 3"),
         &NpzSpec::layout},
        {Parameter::any("inputs", "null",
                        "arrays that replace x, for an exported model with several inputs; null: x",
                        resolve_inputs)
             .shaped(R"({"anyOf": [{"type": "null"}, {"type": "array", "minItems": 1,)"
                     R"( "items": {"type": "string", "minLength": 1}}]})"),
         set_inputs},
    };
    return keys;
}

DataSets make_npz(const NpzSpec& spec, const DataSpec& common, const DataContext&) {
    const Zip train_file(named_file(spec.train, "train"));
    const bool own_file = spec.test.has_value();
    std::optional<Zip> other;
    if (own_file) other.emplace(named_file(*spec.test, "test"));
    const Zip& test_file = own_file ? *other : train_file;
    const Split train = read_split_npz(train_file, "train", own_file, spec.inputs);
    const Split test = read_split_npz(test_file, "test", own_file, spec.inputs);

    for (size_t k = 0; k < spec.inputs.size(); ++k) {
        const NpyArray &trained = train.inputs[k].array, &tested = test.inputs[k].array;
        if (!std::equal(trained.shape.begin() + 1, trained.shape.end(), tested.shape.begin() + 1,
                        tested.shape.end()) ||
            trained.kind != tested.kind) {
            test.inputs[k].refuse("differs from the training samples in shape or type");
        }
    }
    auto [labels, classes] = targets_of(train.y);
    auto [test_labels, test_classes] = targets_of(test.y);
    if ((classes == 0) != (test_classes == 0))
        test.y.refuse("differs from the training targets in type");
    const auto unseen = classes > 0 ? label_not_among(test_labels, labels) : std::nullopt;
    if (unseen) {
        test.y.refuse("has the label " + std::to_string(*unseen) +
                      ", which no training sample has (those end at " +
                      std::to_string(classes - 1) + "): add training samples of it, or remove it");
    }
    DataSets sets;
    for (const Zip* file : {&train_file, &test_file}) {
        const std::string name = std::filesystem::path(file->path()).filename().string();
        if (sets.digests.empty() || own_file) {
            sets.digests.emplace_back(name, digest(file->bytes()), std::ssize(file->bytes()),
                                      file->path());
        }
    }
    if (!spec.inputs.empty()) {
        refuse_of_numbers(common, train.x());
        if (spec.layout != ChannelOrder::automatic) {
            throw UserError(
                "/data/layout: is for images, but `inputs` are lists of numbers: leave it out");
        }
        sets.train = joined_set(train.inputs, std::move(labels), classes);
        sets.test = joined_set(test.inputs, std::move(test_labels), classes);
        for (size_t k = 0; k < spec.inputs.size(); ++k) {
            const auto& shape = train.inputs[k].array.shape;
            sets.inputs.push_back({spec.inputs[k], {shape.begin() + 1, shape.end()}});
        }
        return sets;
    }
    const Shape shape = shape_of(train.x(), spec.layout);
    const Shape test_shape = shape_of(test.x(), spec.layout);
    if (test_shape.lengths != shape.lengths || test.x().array.kind != train.x().array.kind) {
        test.x().refuse("differs from the training samples in shape or type");
    }
    if (train.x().array.kind == "u1" && shape.image()) {
        Images images = images_of(train.x(), shape, std::move(labels), classes);
        const auto normalization = chosen_normalization(common.normalize, measured(images));
        sets.train = image_set(std::move(images), classes, normalization);
        sets.test = image_set(images_of(test.x(), test_shape, std::move(test_labels), classes),
                              classes, normalization);
        return sets;
    }
    refuse_of_numbers(common, train.x());
    sets.train = numbers_of(train.x(), shape, std::move(labels), classes);
    sets.test = numbers_of(test.x(), test_shape, std::move(test_labels), classes);
    return sets;
}

}  // namespace

DataEntry npz_data() {
    return {"npz",
            "arrays x (samples first) and y (labels, or real targets) from NumPy's .npz files",
            true, make_npz, [](const std::string&) {
                return DataStatus{"npz", true, "your files, named in a spec"};
            }};
}

}  // namespace dbench::data
