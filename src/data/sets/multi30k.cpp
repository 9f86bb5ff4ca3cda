// Multi30k, English to German (Elliott et al. 2016, arXiv 1605.00459): descriptions of photographs,
// a sentence a line, in pieces of one byte-pair vocabulary of both languages.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/sets/pairs.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

constexpr const char* kFolder = "multi30k";
constexpr const char* kSource =
    "https://github.com/multi30k/dataset/tree/master/data/task1/raw (unpacked)";

struct File {
    const char* name;
    int64_t bytes;
    const char* digest;
};
struct Part {
    File english, german;
};
constexpr Part kTrain{{"train.en", 1801238, "crc32:0509bf97"},
                      {"train.de", 2110398, "crc32:e4b6b9d3"}};
constexpr Part kValidation{{"val.en", 63297, "crc32:bd696936"},
                           {"val.de", 75981, "crc32:27e0f5c0"}};
constexpr Part kTest{{"test_2016_flickr.en", 62076, "crc32:05979352"},
                     {"test_2016_flickr.de", 70649, "crc32:9b7bace1"}};

std::string folder_of(const std::string& root) {
    return find_folder(root, {kFolder, ""},
                       {kTrain.english.name, kValidation.english.name, kTest.english.name});
}

DataStatus status(const std::string& root) {
    const std::string name = "multi30k";
    if (root.empty()) return {name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of(root);
    if (folder.empty()) {
        return {name, false, std::string("no ") + kFolder + " in " + root + "; get " + kSource};
    }
    for (const Part& part : {kTrain, kValidation, kTest}) {
        for (const File& file : {part.english, part.german}) {
            if (find_file(folder, {file.name}).empty()) {
                return {name, false, std::string(file.name) + " missing in " + folder};
            }
        }
    }
    return {name, true, folder};
}

std::vector<std::string> read(const std::string& folder, const File& file, DataSets& sets) {
    const std::string path = (std::filesystem::path(folder) / file.name).string();
    const DataFile contents = read_data_file(path, file.bytes, kSource);
    check_size(contents, file.bytes, "Multi30k, task 1, raw", kSource);
    const std::string found = digest(contents.bytes);
    if (found != file.digest) {
        throw base::UserError(path + ": is not the published file (found " + found + ", expected " +
                              file.digest + "): get it again from " + kSource);
    }
    sets.checksums.emplace_back(file.name, found);
    return lines_of(contents.bytes);
}

DataSets make(const base::Json& spec, const DataContext&) {
    const std::string root = data_root(spec, kFolder, kSource);
    const std::string folder = folder_of(root);
    if (folder.empty()) {
        throw base::UserError(std::string("/data/root: no Multi30k here (no ") + kFolder + " in " +
                              root + "): get " + kSource + ", or name the folder that holds " +
                              kFolder);
    }
    DataSets sets;
    const auto both = [&](const Part& part) {
        return ParallelText{read(folder, part.english, sets), read(folder, part.german, sets)};
    };
    const ParallelText train = both(kTrain), validation = both(kValidation), test = both(kTest);
    add_pairs(sets, spec, train, validation, test);
    return sets;
}

}  // namespace

DataEntry multi30k_data() {
    return {{"multi30k",
             "Multi30k, English to German: 29000 pairs of sentences for training, 1014 for "
             "validation, 1000 for testing",
             with_vocabulary({root_parameter()})},
            false,
            make,
            status};
}

}  // namespace dbench::data
