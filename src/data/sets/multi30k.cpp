// The data set multi30k, English to German (Elliott et al. 2016, arXiv 1605.00459): descriptions of
// photographs, one sentence per line, encoded with one byte-pair vocabulary of both languages.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/sets/pairs.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

constexpr const char* kMulti30kFolder = "multi30k";
constexpr const char* kMulti30kSource =
    "https://github.com/multi30k/dataset/tree/master/data/task1/raw (unpacked)";

struct File {
    const char* name;
    int64_t bytes;
    const char* digest;
};
struct Multi30kPart {
    File english, german;
};
constexpr Multi30kPart kMulti30kTrain{{"train.en", 1801238, "crc32:0509bf97"},
                                      {"train.de", 2110398, "crc32:e4b6b9d3"}};
constexpr Multi30kPart kMulti30kValidation{{"val.en", 63297, "crc32:bd696936"},
                                           {"val.de", 75981, "crc32:27e0f5c0"}};
constexpr Multi30kPart kMulti30kTest{{"test_2016_flickr.en", 62076, "crc32:05979352"},
                                     {"test_2016_flickr.de", 70649, "crc32:9b7bace1"}};

std::string folder_of_multi30k(const std::string& root) {
    return find_folder(root, {kMulti30kFolder, ""},
                       {kMulti30kTrain.english.name, kMulti30kValidation.english.name,
                        kMulti30kTest.english.name});
}

DataStatus multi30k_status(const std::string& root) {
    const std::string name = "multi30k";
    if (root.empty()) return {name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of_multi30k(root);
    if (folder.empty()) {
        return {name, false,
                std::string("no ") + kMulti30kFolder + " in " + root + "; get " + kMulti30kSource};
    }
    for (const Multi30kPart& part : {kMulti30kTrain, kMulti30kValidation, kMulti30kTest}) {
        for (const File& file : {part.english, part.german}) {
            if (find_file(folder, {file.name}).empty()) {
                return {name, false, std::string(file.name) + " missing in " + folder};
            }
        }
    }
    return {name, true, folder};
}

std::vector<std::string> read_multi30k(const std::string& folder, const File& file,
                                       DataSets& sets) {
    const std::string path = (std::filesystem::path(folder) / file.name).string();
    const DataFile contents = read_data_file(path, file.bytes, kMulti30kSource);
    check_size(contents, file.bytes, "Multi30k, task 1, raw", kMulti30kSource);
    const std::string found = digest(contents.bytes);
    if (found != file.digest) {
        throw base::UserError(path + ": is not the published file (found " + found + ", expected " +
                              file.digest + "): get it again from " + kMulti30kSource);
    }
    sets.digests.emplace_back(file.name, found, file.bytes, path);
    return lines_of(contents);
}

struct Multi30kSpec : RootSpec, PiecesSpec {
    static const base::Section<Multi30kSpec>& section();
};

const base::Section<Multi30kSpec>& Multi30kSpec::section() {
    static const base::Section<Multi30kSpec> keys{{}, RootSpec::section(), PiecesSpec::section()};
    return keys;
}

DataSets make_multi30k(const Multi30kSpec& spec, const DataSpec&, const DataContext&) {
    const std::string root = data_root(spec.root, kMulti30kFolder, kMulti30kSource);
    const std::string folder = folder_of_multi30k(root);
    if (folder.empty()) {
        throw base::UserError(std::string("/data/root: Multi30k was not found (no ") +
                              kMulti30kFolder + " in " + root + "): get " + kMulti30kSource +
                              ", or name the folder that holds " + kMulti30kFolder);
    }
    DataSets sets;
    const auto both = [&](const Multi30kPart& part) {
        return ParallelText{read_multi30k(folder, part.english, sets),
                            read_multi30k(folder, part.german, sets)};
    };
    const ParallelText train = both(kMulti30kTrain), validation = both(kMulti30kValidation),
                       test = both(kMulti30kTest);
    add_pairs(sets, spec, train, validation, test);
    return sets;
}

}  // namespace

DataEntry multi30k_data() {
    return {"multi30k",
            "Multi30k, English to German: 29000 pairs of sentences for training, 1014 for "
            "validation, 1000 for testing",
            false, make_multi30k, multi30k_status};
}

}  // namespace dbench::data
