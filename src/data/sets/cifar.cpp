// CIFAR-10, "binary version": five training files and a test file of 10000 records, each one label
// byte and 3072 pixel bytes, red, green and blue planes of 32 rows
// (cs.toronto.edu/~kriz/cifar.html).

#include "data/sets/cifar10.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

constexpr const char* kFolder = "cifar-10-batches-bin";
constexpr const char* kSource = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
constexpr int64_t kRecords = 10000, kImage = 3 * 32 * 32;

const std::vector<std::string>& file_names() {
    static const std::vector<std::string> names = {"data_batch_1.bin", "data_batch_2.bin",
                                                   "data_batch_3.bin", "data_batch_4.bin",
                                                   "data_batch_5.bin", "test_batch.bin"};
    return names;
}

std::string folder_of(const std::string& root) {
    return find_folder(root, {kFolder, ""}, file_names());
}

std::string missing(const std::string& root) {
    std::string text = std::string("no ") + kFolder + " in " + root;
    if (std::filesystem::is_directory(std::filesystem::path(root) / "cifar-10-batches-py")) {
        text += ", only the Python version, which is not read";
    }
    return text;
}

DataStatus status(const std::string& root) {
    const std::string name = "cifar10";
    if (root.empty()) return {name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of(root);
    if (folder.empty()) return {name, false, missing(root) + "; get " + kSource};
    for (const auto& file : file_names()) {
        if (find_file(folder, {file}).empty()) return {name, false, file + " missing in " + folder};
    }
    return {name, true, folder};
}

DataSets make(const base::Json& spec, const DataContext&) {
    const std::string root = data_root(spec, kFolder, kSource);
    const std::string folder = folder_of(root);
    if (folder.empty()) {
        throw base::UserError("/data/root: no CIFAR-10 here (" + missing(root) + "): unpack " +
                              kSource + " there, or name the folder that holds " + kFolder);
    }
    DataSets sets;
    Images train, test;
    for (const auto& name : file_names()) {
        const std::string path = (std::filesystem::path(folder) / name).string();
        Images& images = name.starts_with("test") ? test : train;
        sets.checksums.emplace_back(name, append_cifar10(path, kRecords, images));
    }
    const Normalization published = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
    const auto normalization =
        chosen_normalization(DataSpec::section().read(spec).normalize, published);
    sets.train = image_set(std::move(train), 10, normalization);
    sets.test = image_set(std::move(test), 10, normalization);
    return sets;
}

}  // namespace

std::string append_cifar10(const std::string& path, int64_t records, Images& images) {
    constexpr int64_t kRecord = 1 + kImage;
    const DataFile file = read_data_file(path, records * kRecord, kSource);
    check_size(file, records * kRecord,
               std::to_string(records) + " records of " + std::to_string(kRecord), kSource);
    images.channels = 3;
    images.height = images.width = 32;
    for (int64_t k = 0; k < records; ++k) {
        const uint8_t* record = file.bytes.data() + k * kRecord;
        if (record[0] > 9) {
            throw base::UserError(path + ": record " + std::to_string(k) + " has label " +
                                  std::to_string(record[0]) +
                                  " (labels are 0 to 9; the file is damaged or another one): get " +
                                  "it again from " + kSource);
        }
        images.labels.push_back(record[0]);
        images.pixels.insert(images.pixels.end(), record + 1, record + kRecord);
    }
    return digest(file.bytes);
}

DataEntry cifar10_data() {
    return {{"cifar10",
             "photographs in 10 classes, 3x32x32: 50000 for training, 10000 for testing",
             {root_parameter()}},
            true,
            make,
            status};
}

}  // namespace dbench::data
