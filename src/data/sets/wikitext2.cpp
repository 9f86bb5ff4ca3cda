// WikiText-2 by words (Merity et al. 2016, arXiv 1609.07843): articles of Wikipedia as three texts,
// in which words that are rare have been replaced by <unk> and words are separated by blanks.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/sets/sets.hpp"
#include "data/token_set.hpp"
#include "data/vocabulary.hpp"

namespace dbench::data {
namespace {

constexpr const char* kFolder = "wikitext-2";
constexpr const char* kSource = "https://wikitext.smerity.com/wikitext-2-v1.zip";

struct Part {
    const char* name;
    int64_t bytes;
};
constexpr Part kTrain{"wiki.train.tokens", 10797148};
constexpr Part kValidation{"wiki.valid.tokens", 1121681};
constexpr Part kTest{"wiki.test.tokens", 1256449};

std::string folder_of(const std::string& root) {
    return find_folder(root, {kFolder, "wikitext-2-v1", ""},
                       {kTrain.name, kValidation.name, kTest.name});
}

DataStatus status(const std::string& root) {
    const std::string name = "wikitext2";
    if (root.empty()) return {name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of(root);
    if (folder.empty()) {
        return {name, false, std::string("no ") + kFolder + " in " + root + "; get " + kSource};
    }
    for (const Part& part : {kTrain, kValidation, kTest}) {
        if (find_file(folder, {part.name}).empty()) {
            return {name, false, std::string(part.name) + " missing in " + folder};
        }
    }
    return {name, true, folder};
}

std::string read(const std::string& folder, const Part& part, DataSets& sets) {
    const std::string path = (std::filesystem::path(folder) / part.name).string();
    const DataFile file = read_data_file(path, part.bytes, kSource);
    check_size(file, part.bytes, "WikiText-2 by words", kSource);
    sets.checksums.emplace_back(part.name, digest(file.bytes));
    return {file.bytes.begin(), file.bytes.end()};
}

DataSets make(const base::Json& spec, const DataContext&) {
    const std::string root = data_root(spec, kFolder, kSource);
    const std::string folder = folder_of(root);
    if (folder.empty()) {
        throw base::UserError(std::string("/data/root: no WikiText-2 here (no ") + kFolder +
                              " in " + root + "): unpack " + kSource +
                              " there, or name the folder that holds " + kFolder);
    }
    std::optional<int64_t> limit;
    if (spec.at("vocabulary").is_number()) limit = spec.at("vocabulary").get<int64_t>();
    const auto length = spec.at("sequence").get<int64_t>();

    DataSets sets;
    const std::string train = read(folder, kTrain, sets),
                      validation = read(folder, kValidation, sets),
                      test = read(folder, kTest, sets);
    const auto words = words_of(train);
    const Vocabulary vocabulary(words, limit);
    const auto windows = [&](const std::vector<std::string_view>& of, const Part& part) {
        const std::string path = (std::filesystem::path(folder) / part.name).string();
        return token_set(vocabulary.tokens(of, path), vocabulary.size(), length, path);
    };
    sets.train = windows(words, kTrain);
    sets.validation = windows(words_of(validation), kValidation);
    sets.test = windows(words_of(test), kTest);
    return sets;
}

}  // namespace

DataEntry wikitext2_data() {
    return {{"wikitext2",
             "WikiText-2 by words: 2088628 for training, 217646 for validation, 245569 for "
             "testing; each predicts the next",
             {root_parameter(),
              base::Parameter::integer("vocabulary", "null",
                                       "so many words, the most frequent ones, the others as "
                                       "<unk>; null: all of the training text, 33278")
                  .at_least(2)
                  .or_null(),
              sequence_parameter()}},
            false,
            make,
            status};
}

}  // namespace dbench::data
