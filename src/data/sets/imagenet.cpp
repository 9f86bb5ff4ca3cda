// The data set imagenet: photographs of any size, like those of ImageNet (Russakovsky et al. 2015,
// arXiv 1409.0575), which are decoded each time they are used.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "data/files.hpp"
#include "data/photographs.hpp"
#include "data/picture.hpp"
#include "data/sets/sets.hpp"
#include "data/view.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;
using base::Parameter;
using base::UserError;

constexpr const char* kImagenetFolder = "imagenet";
constexpr const char* kImagenetSource =
    "https://image-net.org (a registration is required: scripts/fetch-data imagenet)";

/// Converts a picture that is not a JPEG, whatever its name says: one file of ImageNet is a PNG.
Pixels pixels_of(const Picture& picture) {
    Pixels out{0, 0, picture.width, picture.height, {}};
    const int64_t area = picture.width * picture.height;
    out.rgb.resize(static_cast<size_t>(3 * area));
    for (int64_t p = 0; p < area; ++p) {
        for (int64_t c = 0; c < 3; ++c) {
            out.rgb[3 * p + c] = picture.pixels[(picture.channels == 1 ? 0 : c) * area + p];
        }
    }
    return out;
}

class PhotographSet : public Dataset {
public:
    PhotographSet(std::shared_ptr<const Photographs> photographs, std::vector<int64_t> label_of,
                  int64_t classes, int64_t size, Normalization normalization)
        : photographs_(std::move(photographs)),
          label_of_(std::move(label_of)),
          classes_(classes),
          size_(size),
          normalization_(std::move(normalization)) {}

    int64_t size() const override { return photographs_->size(); }
    std::vector<int64_t> shape() const override { return {3, size_, size_}; }
    int64_t classes() const override { return classes_; }
    int64_t label(int64_t index) const override { return label_of_[photographs_->labels[index]]; }
    double target(int64_t index) const override { return static_cast<double>(label(index)); }

    void input(int64_t index, arena::DType type, Order order, uint64_t augment_key,
               void* out) const override {
        DBENCH_EXPECT(index >= 0 && index < size());
        thread_local std::vector<uint8_t> buffer;
        thread_local Pixels pixels;
        const std::span<const uint8_t> bytes = photographs_->bytes(index, buffer);
        const std::string path = photographs_->path(index);
        View view;
        if (looks_like_png(bytes)) {
            const std::string file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            pixels = pixels_of(parse_picture(file, path));
            view = view_of(pixels.width, pixels.height, augment_key);
        } else {
            Jpeg jpeg(bytes, path);
            const View whole = view_of(jpeg.width(), jpeg.height(), augment_key);
            const int64_t eighths = eighths_for(whole);
            jpeg.decode(part_of(whole), eighths, pixels);
            view = scaled(whole, eighths);
        }
        resample(pixels, view.x, view.y, view.mirrored, normalization_, type, order, out);
    }

private:
    View view_of(int64_t width, int64_t height, uint64_t key) const {
        return key != 0 ? random_view(key, width, height, size_)
                        : central_view(width, height, size_);
    }

    std::shared_ptr<const Photographs> photographs_;
    std::vector<int64_t> label_of_;  // Label of each class of the photographs.
    int64_t classes_, size_;
    Normalization normalization_;
};

struct ImagenetSpec : RootSpec {
    std::string train, test;  ///< Folders with a folder per class, or packed files.
    int64_t size;             ///< Width and height in pixels.
    ClassBy class_by;
    bool check;  ///< Check every file of a folder before the run.

    static const base::Section<ImagenetSpec>& section();
};

const base::Section<ImagenetSpec>& ImagenetSpec::section() {
    using S = ImagenetSpec;
    static const base::Section<S> keys{
        {RootSpec::section().parameters().front(), &S::root},
        {Parameter::text("train", "\"train\"",
                         "the folder that holds one folder per class, or a file made by "
                         "dbench data pack; relative to imagenet in the root, or to the root"),
         &S::train},
        {Parameter::text("test", "\"val\"", "the same for testing"), &S::test},
        {Parameter::integer("size", "224",
                            "width and height in pixels to which photographs are resized")
             .at_least(1)
             .at_most(4096),
         &S::size},
        {base::Words<ClassBy>("class_by", {{"folder", ClassBy::folder}, {"name", ClassBy::name}},
                              ClassBy::folder,
                              "folder: the name of the folder is the class; name: the class is "
                              "the file name up to the first _ or ."),
         &S::class_by},
        {Parameter::flag("check", "true",
                         "check the beginning and the end of every file of a folder before "
                         "the run"),
         &S::check},
    };
    return keys;
}

// Returns the folders in which relative paths are searched: ROOT/imagenet, ROOT, and the current
// folder.
std::vector<fs::path> places(const ImagenetSpec& spec) {
    std::vector<fs::path> all;
    const char* variable = std::getenv("DBENCH_DATA");
    const std::string standard = variable != nullptr ? variable : "";
    const fs::path root = spec.root.value_or(standard);
    if (!root.empty()) all = {root / kImagenetFolder, root};
    all.emplace_back();
    return all;
}

// Reads the set at `wanted`, the value of /data/`split`.
std::shared_ptr<const Photographs> read_imagenet(const ImagenetSpec& spec, const fs::path& wanted,
                                                 const std::string& split) {
    std::string tried;
    for (const fs::path& place : places(spec)) {
        const std::string path = (place / wanted).string();
        switch (base::kind_of(path)) {
            case base::PathKind::folder:
                return photographs_in(path, spec.class_by, spec.check);
            case base::PathKind::nothing:
                tried += (tried.empty() ? "" : ", ") + path;
                break;
            default:
                return packed_photographs(path);
        }
    }
    throw UserError("/data/" + split +
                    ": was not found (neither a folder that holds one folder of "
                    "photographs per class, nor a file made by dbench data "
                    "pack: " +
                    tried + "): name one of them, or set DBENCH_DATA to the folder that holds " +
                    kImagenetFolder + "; the photographs are at " + kImagenetSource);
}

// Returns the index of each class of `photographs` among the training classes.
std::vector<int64_t> labels_among(const std::vector<std::string>& classes,
                                  const Photographs& photographs) {
    std::vector<int64_t> labels;
    for (const std::string& name : photographs.classes) {
        const auto found = std::find(classes.begin(), classes.end(), name);
        if (found == classes.end()) {
            throw UserError(
                "/data/test: " + photographs.path(0) + ": the class " + name +
                " is not one of the training classes: remove it, or add it to the training set");
        }
        labels.push_back(found - classes.begin());
    }
    return labels;
}

DataSets make_imagenet(const ImagenetSpec& spec, const DataSpec& common, const DataContext&) {
    const int64_t size = spec.size;
    const Normalization published = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
    const auto normalization = chosen_normalization(common.normalize, published);
    const auto train = read_imagenet(spec, spec.train, "train");
    const auto test = spec.test == spec.train ? train : read_imagenet(spec, spec.test, "test");
    const auto classes = static_cast<int64_t>(train->classes.size());
    const auto set_of = [&](const std::shared_ptr<const Photographs>& photographs) {
        return std::make_shared<PhotographSet>(
            photographs, labels_among(train->classes, *photographs), classes, size, normalization);
    };
    DataSets sets;
    sets.train = set_of(train);
    sets.test = set_of(test);
    sets.classes = train->classes;
    const auto add_digests = [&](const std::string& name, const std::string& path,
                                 const Photographs& photographs) {
        sets.digests.emplace_back(name, photographs.digest(), -1, path);
        const std::string contents = photographs.contents_digest();
        if (!contents.empty()) sets.digests.emplace_back(name + " files", contents, -1, path);
    };
    add_digests("train", spec.train, *train);
    add_digests("test", spec.test, *test);
    return sets;
}

DataStatus imagenet_status(const std::string& root) {
    const std::string name = "imagenet";
    if (root.empty()) return {name, false, "DBENCH_DATA is not set"};
    const std::string folder = find_folder(root, {kImagenetFolder, ""}, {"train"});
    if (folder.empty()) {
        return {name, false,
                "no " + (fs::path(root) / kImagenetFolder / "train").string() + "; get " +
                    kImagenetSource};
    }
    if (find_file(folder, {"val"}).empty()) return {name, false, "val missing in " + folder};
    return {name, true, folder};
}

}  // namespace

DataEntry imagenet_data() {
    return {"imagenet",
            "JPEG photographs of any size, in one folder per class or packed into one file; "
            "decoded when they are used",
            true, make_imagenet, imagenet_status};
}

}  // namespace dbench::data
