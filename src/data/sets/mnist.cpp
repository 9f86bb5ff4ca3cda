// The data sets mnist (LeCun, Cortes, Burges) and fashion_mnist (Xiao, Rasul, Vollgraf 2017), which
// have the same four IDX files under the same names.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/sets/idx.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

struct Kind {
    const char* name;
    const char* title;
    std::vector<std::string> folders;  // Folders below the root that may hold the files.
    const char* source;
    Normalization published;
    std::vector<uint16_t> first_labels;  // The training labels tell the sets apart.
};

const Kind& mnist() {
    static const Kind kind = {"mnist",
                              "MNIST",
                              {"mnist", "MNIST/raw", ""},
                              "https://ossci-datasets.s3.amazonaws.com/mnist/",
                              {{0.1307}, {0.3081}},
                              {5, 0, 4, 1, 9, 2, 1, 3, 1, 4}};
    return kind;
}

const Kind& fashion_mnist() {
    static const Kind kind = {"fashion_mnist",
                              "Fashion-MNIST",
                              {"fashion-mnist", "FashionMNIST/raw", ""},
                              "https://github.com/zalandoresearch/fashion-mnist",
                              {{0.2860}, {0.3530}},
                              {9, 0, 0, 3, 0, 2, 7, 2, 5, 5}};
    return kind;
}

// Returns the usual names of one file; some unpackers write the dotted one.
std::vector<std::string> names_of(const std::string& split, const std::string& content) {
    const std::string rank = content == "images" ? "idx3" : "idx1";
    const std::string plain = split + "-" + content + "-" + rank + "-ubyte";
    const std::string dotted = split + "-" + content + "." + rank + "-ubyte";
    return {plain, plain + ".gz", dotted, dotted + ".gz"};
}

std::string folder_of_mnist(const Kind& kind, const std::string& root) {
    return find_folder(root, kind.folders, names_of("train", "images"));
}

std::string missing_mnist(const Kind& kind, const std::string& root) {
    return "no train-images-idx3-ubyte, plain or .gz, in " + root + " or its folder " +
           kind.folders.front();
}

DataStatus mnist_status(const Kind& kind, const std::string& root) {
    if (root.empty()) return {kind.name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of_mnist(kind, root);
    if (folder.empty()) {
        return {kind.name, false, missing_mnist(kind, root) + "; get them from " + kind.source};
    }
    for (const char* split : {"train", "t10k"}) {
        for (const char* content : {"images", "labels"}) {
            const auto names = names_of(split, content);
            if (find_file(folder, names).empty()) {
                return {kind.name, false, names.front() + " missing in " + folder};
            }
        }
    }
    return {kind.name, true, folder};
}

// Returns a warning if the training labels are those of the other set.
std::vector<std::string> warnings_of_mnist(const Kind& kind, const std::string& folder,
                                           const std::vector<uint16_t>& labels) {
    const Kind& other = &kind == &mnist() ? fashion_mnist() : mnist();
    const std::vector<uint16_t>& first = other.first_labels;
    if (!std::equal(first.begin(), first.end(), labels.begin())) return {};
    return {"/data/type: " + folder + " holds " + other.title +
            ", as its first labels show, and not " + kind.title + ": choose " + other.name +
            ", or another /data/root"};
}

std::shared_ptr<const Dataset> read_split_mnist(const Kind& kind, const std::string& folder,
                                                const std::string& split, int64_t count,
                                                const Normalization& normalization,
                                                DataSets& sets) {
    const auto path = [&](const std::string& content) {
        const auto names = names_of(split, content);
        const std::string found = find_file(folder, names);
        if (!found.empty()) return found;
        throw base::UserError(folder + ": " + names.front() +
                              " is missing (plain or .gz): get it " + "from " + kind.source);
    };
    const IdxFiles files = {path("images"), path("labels"), kind.source};
    std::string digests[2];
    Images images = read_idx(files, count, digests);
    for (int k = 0; k < 2; ++k) {
        // A content has one name, whether its file is compressed or not.
        sets.digests.emplace_back(names_of(split, k == 0 ? "images" : "labels").front(), digests[k],
                                  -1, k == 0 ? files.images : files.labels);
    }
    if (split == "train") sets.warnings = warnings_of_mnist(kind, folder, images.labels);
    return image_set(std::move(images), 10, normalization);
}

DataSets read_mnist(const Kind& kind, const RootSpec& spec, const DataSpec& common) {
    const std::string root = data_root(spec.root, kind.folders.front(), kind.source);
    const std::string folder = folder_of_mnist(kind, root);
    if (folder.empty()) {
        throw base::UserError(std::string("/data/root: ") + kind.title + " was not found (" +
                              missing_mnist(kind, root) + "): get the four files from " +
                              kind.source);
    }
    const auto normalization = chosen_normalization(common.normalize, kind.published);
    DataSets sets;
    sets.train = read_split_mnist(kind, folder, "train", 60000, normalization, sets);
    sets.test = read_split_mnist(kind, folder, "t10k", 10000, normalization, sets);
    return sets;
}

DataSets make_mnist(const RootSpec& spec, const DataSpec& common, const DataContext&) {
    return read_mnist(mnist(), spec, common);
}

DataSets make_fashion_mnist(const RootSpec& spec, const DataSpec& common, const DataContext&) {
    return read_mnist(fashion_mnist(), spec, common);
}

}  // namespace

DataEntry mnist_data() {
    return {"mnist", "handwritten digits, 1x28x28: 60000 for training, 10000 for testing", true,
            make_mnist, [](const std::string& root) { return mnist_status(mnist(), root); }};
}

DataEntry fashion_mnist_data() {
    return {"fashion_mnist", "articles of clothing, 1x28x28: 60000 for training, 10000 for testing",
            true, make_fashion_mnist,
            [](const std::string& root) { return mnist_status(fashion_mnist(), root); }};
}

}  // namespace dbench::data
