// The data sets cifar10 and cifar100 in the "binary version": 50000 records for training and 10000
// for testing, in six or in two files (cs.toronto.edu/~kriz/cifar.html).

#include "data/sets/cifar.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "data/files.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kCifarImage = 3 * 32 * 32, kTestRecords = 10000;

/// The files of one of the sets: `train` files of equal size, and one test file.
struct CifarFiles {
    /// python: the folder of the Python version, which is not supported.
    const char *name, *title, *folder, *python;
    const char* source;
    std::vector<std::string> train;
    std::string test;
    int64_t records;  ///< Records per training file.
    Normalization published;

    std::vector<std::string> all() const {
        std::vector<std::string> names = train;
        names.push_back(test);
        return names;
    }
};

/// Returns the path of a file, plain or compressed; "" if there is none.
std::string cifar_file(const std::string& folder, const std::string& name) {
    return find_file(folder, {name, name + ".gz"});
}

const CifarFiles& files10() {
    static const CifarFiles files{"cifar10",
                                  "CIFAR-10",
                                  "cifar-10-batches-bin",
                                  "cifar-10-batches-py",
                                  kCifar10.source,
                                  {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                   "data_batch_4.bin", "data_batch_5.bin"},
                                  "test_batch.bin",
                                  10000,
                                  {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}};
    return files;
}

const CifarFiles& files100() {
    static const CifarFiles files{"cifar100",
                                  "CIFAR-100",
                                  "cifar-100-binary",
                                  "cifar-100-python",
                                  kCifar100.source,
                                  {"train.bin"},
                                  "test.bin",
                                  50000,
                                  {{0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762}}};
    return files;
}

std::string folder_of_cifar(const CifarFiles& files, const std::string& root) {
    std::vector<std::string> names = files.all();
    for (const std::string& name : files.all()) names.push_back(name + ".gz");
    return find_folder(root, {files.folder, ""}, names);
}

std::string missing_cifar(const CifarFiles& files, const std::string& root) {
    std::string text = std::string("no ") + files.folder + " in " + root;
    const auto python = std::filesystem::path(root) / files.python;
    if (base::kind_of(python.string()) == base::PathKind::folder) {
        text += ", only the Python version, which is not supported";
    }
    return text;
}

DataStatus status_of(const CifarFiles& files, const std::string& root) {
    if (root.empty()) return {files.name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of_cifar(files, root);
    if (folder.empty()) {
        return {files.name, false, missing_cifar(files, root) + "; get " + files.source};
    }
    for (const auto& file : files.all()) {
        if (cifar_file(folder, file).empty()) {
            return {files.name, false, file + " missing in " + folder};
        }
    }
    return {files.name, true, folder};
}

DataSets cifar_sets(const RootSpec& spec, const DataSpec& common, const CifarFiles& files,
                    const CifarRecord& record) {
    const std::string root = data_root(spec.root, files.folder, files.source);
    const std::string folder = folder_of_cifar(files, root);
    if (folder.empty()) {
        throw base::UserError("/data/root: " + std::string(files.title) + " was not found (" +
                              missing_cifar(files, root) + "): unpack " + files.source +
                              " there, or name the folder that holds " + files.folder);
    }
    DataSets sets;
    const auto read = [&](const std::string& name, int64_t count, Images& images) {
        const std::string path = cifar_file(folder, name);
        if (path.empty()) {
            throw base::UserError(folder + ": " + name +
                                  " is missing (plain or .gz): get it from " + files.source);
        }
        sets.digests.emplace_back(name, append_cifar(path, record, count, images), -1, path);
    };
    Images train, test;
    for (const auto& name : files.train) read(name, files.records, train);
    read(files.test, kTestRecords, test);
    const auto normalization = chosen_normalization(common.normalize, files.published);
    sets.train = image_set(std::move(train), record.classes, normalization);
    sets.test = image_set(std::move(test), record.classes, normalization);
    return sets;
}

DataSets make_cifar10(const RootSpec& spec, const DataSpec& common, const DataContext&) {
    return cifar_sets(spec, common, files10(), kCifar10);
}

struct Cifar100Spec : RootSpec {
    bool coarse;  ///< The 20 superclasses instead of the 100 classes.

    static const base::Section<Cifar100Spec>& section();
};

const base::Section<Cifar100Spec>& Cifar100Spec::section() {
    static const base::Section<Cifar100Spec> keys{
        {RootSpec::section().parameters().front(), &RootSpec::root},
        {base::Words<bool>("labels", {{"fine", false}, {"coarse", true}}, false,
                           "the 100 classes, or their 20 superclasses"),
         &Cifar100Spec::coarse},
    };
    return keys;
}

DataSets make_cifar100(const Cifar100Spec& spec, const DataSpec& common, const DataContext&) {
    return cifar_sets(spec, common, files100(), spec.coarse ? kCifar100Coarse : kCifar100);
}

}  // namespace

std::string append_cifar(const std::string& path, const CifarRecord& record, int64_t count,
                         Images& images) {
    const int64_t size = record.labels + kCifarImage;
    const DataFile file = read_data_file(path, count * size, record.source);
    check_size(file, count * size, std::to_string(count) + " records of " + std::to_string(size),
               record.source);
    images.channels = 3;
    images.height = images.width = 32;
    for (int64_t k = 0; k < count; ++k) {
        const uint8_t* at = file.bytes.data() + k * size;
        const uint8_t label = at[record.label];
        if (label >= record.classes) {
            throw base::UserError(
                path + ": record " + std::to_string(k) + " has label " + std::to_string(label) +
                " (labels are 0 to " + std::to_string(record.classes - 1) +
                "; the file is damaged or is a different one): get it again from " + record.source);
        }
        images.labels.push_back(label);
        images.pixels.insert(images.pixels.end(), at + record.labels, at + size);
    }
    return digest(file.bytes);
}

DataEntry cifar10_data() {
    return {"cifar10", "photographs in 10 classes, 3x32x32: 50000 for training, 10000 for testing",
            true, make_cifar10, [](const std::string& root) { return status_of(files10(), root); }};
}

DataEntry cifar100_data() {
    return {"cifar100",
            "photographs in 100 classes, 3x32x32: 50000 for training, 10000 for testing", true,
            make_cifar100, [](const std::string& root) { return status_of(files100(), root); }};
}

}  // namespace dbench::data
