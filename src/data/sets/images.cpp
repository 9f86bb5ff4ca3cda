// The data set images: the user's own pictures, in a folder for training and one for testing, each
// with one folder per class.

#include "data/images.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/framing.hpp"
#include "base/input_file.hpp"
#include "data/class_coverage.hpp"
#include "data/files.hpp"
#include "data/picture.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;
using base::Parameter;
using base::UserError;

// Returns the entries of a folder, sorted by name, without hidden ones.
std::vector<fs::path> entries_of(const fs::path& folder, const std::string& key) {
    std::vector<fs::path> all;
    std::error_code error;
    for (const std::string& name : base::names_in(folder.string(), error)) {
        if (!name.starts_with(".")) all.push_back(folder / name);
    }
    if (error) {
        throw UserError(key + ": " + folder.string() + ": cannot be read (" + error.message() +
                        "): name a folder that holds one folder per class");
    }
    return all;
}

// Returns the names of the folders in a folder, which are the classes.
std::vector<std::string> classes_in(const std::string& folder, const std::string& key) {
    std::vector<std::string> names;
    for (const fs::path& path : entries_of(folder, key)) {
        if (base::kind_of(path.string()) == base::PathKind::folder) {
            names.push_back(path.filename().string());
        }
    }
    if (names.empty() || names.size() > 65536) {
        throw UserError(key + ": " + folder + ": has " + std::to_string(names.size()) +
                        " folders (each is a class; 1 to 65536 are allowed): name the folder "
                        "that holds them");
    }
    return names;
}

std::string sides(const Images& images) {
    return std::to_string(images.width) + " by " + std::to_string(images.height) + " in " +
           std::to_string(images.channels) + " colours";
}

void add(Images& images, const fs::path& path, size_t label, const std::string& key) {
    const Picture picture = read_picture(path.string());
    Images like;
    like.channels = picture.channels;
    like.height = picture.height;
    like.width = picture.width;
    if (images.channels == 0) images = like;
    if (like.numel() != images.numel() || sides(like) != sides(images)) {
        throw UserError(key + ": " + path.string() + ": is " + sides(like) +
                        ", but the first training picture is " + sides(images) +
                        ": give all the same shape, for example with ImageMagick: mogrify -resize "
                        "64x64! -type TrueColor");
    }
    images.pixels.insert(images.pixels.end(), picture.pixels.begin(), picture.pixels.end());
    images.labels.push_back(static_cast<uint16_t>(label));
}

// If `images` has channels, pictures must have its shape.
Images read_folder(const std::string& folder, const std::string& key,
                   const std::vector<std::string>& classes, Images images) {
    for (const std::string& name : classes_in(folder, key)) {
        const auto found = std::find(classes.begin(), classes.end(), name);
        if (found == classes.end()) {
            throw UserError(
                key + ": " + folder + ": the class " + name +
                " is not one of the training classes: remove it, or add it to the training folder");
        }
        for (const fs::path& path : entries_of(fs::path(folder) / name, key)) {
            add(images, path, static_cast<size_t>(found - classes.begin()), key);
        }
    }
    if (images.count() == 0) throw UserError(key + ": " + folder + ": holds no pictures: add some");
    return images;
}

struct ImagesSpec {
    std::string train, test;  ///< Folders that hold one folder per class.

    static const base::Section<ImagesSpec>& section();
};

const base::Section<ImagesSpec>& ImagesSpec::section() {
    static const base::Section<ImagesSpec> keys{
        {Parameter::text("train", "", "the folder that holds one folder per class"),
         &ImagesSpec::train},
        {Parameter::text("test", "", "the same for testing, with the same class names"),
         &ImagesSpec::test},
    };
    return keys;
}

DataSets make_images(const ImagesSpec& given, const DataSpec& common, const DataContext&) {
    const auto found = [](const std::string& path) {
        const std::string existing = existing_path(path);
        return existing.empty() ? path : existing;
    };
    const ImagesSpec spec{found(given.train), found(given.test)};
    const auto classes = classes_in(spec.train, "/data/train");
    Images train = read_folder(spec.train, "/data/train", classes, {});
    Images like;
    like.channels = train.channels;
    like.height = train.height;
    like.width = train.width;
    Images test = read_folder(spec.test, "/data/test", classes, like);

    const std::vector<double> seen(train.labels.begin(), train.labels.end());
    const std::vector<double> tested(test.labels.begin(), test.labels.end());
    if (const auto unseen = label_not_among(tested, seen)) {
        const std::string& name = classes[static_cast<size_t>(*unseen)];
        throw UserError("/data/test: " + spec.test + ": has pictures of the class " + name +
                        ", but no training picture has this class: add some to " +
                        (fs::path(spec.train) / name).string() + ", or remove them");
    }
    const auto normalization = chosen_normalization(common.normalize, measured(train));
    const auto count = static_cast<int64_t>(classes.size());
    DataSets sets;
    const auto add_digests = [&](const std::string& name, const std::string& folder,
                                 const Images& images) {
        sets.digests.emplace_back(name, digest(images.pixels),
                                  static_cast<int64_t>(images.pixels.size()), folder);
        const auto* labels = reinterpret_cast<const char*>(images.labels.data());
        sets.digests.emplace_back(
            name + " labels",
            digest(base::join_texts(classes) +
                   std::string(labels, images.labels.size() * sizeof(images.labels[0]))),
            -1, folder);
    };
    add_digests("train", spec.train, train);
    add_digests("test", spec.test, test);
    sets.classes = classes;
    sets.train = image_set(std::move(train), count, normalization);
    sets.test = image_set(std::move(test), count, normalization);
    return sets;
}

}  // namespace

DataEntry images_data() {
    return {"images",
            "PNG, PPM or PGM pictures of one size, in one folder per class; its name is the class",
            true, make_images, [](const std::string&) {
                return DataStatus{"images", true, "your folders, named in a spec"};
            }};
}

}  // namespace dbench::data
