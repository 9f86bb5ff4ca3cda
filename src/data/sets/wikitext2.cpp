// The data set wikitext2: WikiText-2 by words (Merity et al. 2016, arXiv 1609.07843). Three texts
// of Wikipedia articles, in which rare words were replaced by <unk> and words are separated by
// blanks.

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

constexpr const char* kWikitext2Folder = "wikitext-2";
constexpr const char* kWikitext2Source = "https://wikitext.smerity.com/wikitext-2-v1.zip";

struct Wikitext2Part {
    const char* name;
    int64_t bytes;
};
constexpr Wikitext2Part kWikitext2Train{"wiki.train.tokens", 10797148};
constexpr Wikitext2Part kWikitext2Validation{"wiki.valid.tokens", 1121681};
constexpr Wikitext2Part kWikitext2Test{"wiki.test.tokens", 1256449};

std::string folder_of_wikitext2(const std::string& root) {
    return find_folder(root, {kWikitext2Folder, "wikitext-2-v1", ""},
                       {kWikitext2Train.name, kWikitext2Validation.name, kWikitext2Test.name});
}

DataStatus wikitext2_status(const std::string& root) {
    const std::string name = "wikitext2";
    if (root.empty()) return {name, false, "DBENCH_DATA is not set"};
    const std::string folder = folder_of_wikitext2(root);
    if (folder.empty()) {
        return {
            name, false,
            std::string("no ") + kWikitext2Folder + " in " + root + "; get " + kWikitext2Source};
    }
    for (const Wikitext2Part& part : {kWikitext2Train, kWikitext2Validation, kWikitext2Test}) {
        if (find_file(folder, {part.name}).empty()) {
            return {name, false, std::string(part.name) + " missing in " + folder};
        }
    }
    return {name, true, folder};
}

std::string read_wikitext2(const std::string& folder, const Wikitext2Part& part, DataSets& sets) {
    const std::string path = (std::filesystem::path(folder) / part.name).string();
    const DataFile file = read_data_file(path, part.bytes, kWikitext2Source);
    check_size(file, part.bytes, "WikiText-2 by words", kWikitext2Source);
    sets.digests.emplace_back(part.name, digest(file.bytes), file.size, path);
    return {file.bytes.begin(), file.bytes.end()};
}

struct Wikitext2Spec : RootSpec {
    std::optional<int64_t> vocabulary;  ///< Number of words; empty: all of the training text.
    int64_t sequence;                   ///< Tokens per sample.

    static const base::Section<Wikitext2Spec>& section();
};

const base::Section<Wikitext2Spec>& Wikitext2Spec::section() {
    static const base::Section<Wikitext2Spec> keys{
        {RootSpec::section().parameters().front(), &RootSpec::root},
        {base::Parameter::integer("vocabulary", "null",
                                  "number of words: the most frequent ones; others become "
                                  "<unk>; null: all 33278 words of the training text")
             .at_least(2)
             .or_null(),
         &Wikitext2Spec::vocabulary},
        {sequence_parameter(), &Wikitext2Spec::sequence},
    };
    return keys;
}

DataSets make_wikitext2(const Wikitext2Spec& spec, const DataSpec&, const DataContext&) {
    const std::string root = data_root(spec.root, kWikitext2Folder, kWikitext2Source);
    const std::string folder = folder_of_wikitext2(root);
    if (folder.empty()) {
        throw base::UserError(std::string("/data/root: WikiText-2 was not found (no ") +
                              kWikitext2Folder + " in " + root + "): unpack " + kWikitext2Source +
                              " there, or name the folder that holds " + kWikitext2Folder);
    }
    DataSets sets;
    const std::string train = read_wikitext2(folder, kWikitext2Train, sets),
                      validation = read_wikitext2(folder, kWikitext2Validation, sets),
                      test = read_wikitext2(folder, kWikitext2Test, sets);
    const auto words = words_of(train);
    const Vocabulary vocabulary(words, spec.vocabulary);
    const auto windows = [&](const std::vector<std::string_view>& of, const Wikitext2Part& part) {
        const std::string path = (std::filesystem::path(folder) / part.name).string();
        return token_set(vocabulary.tokens(of, path), vocabulary.size(), spec.sequence, path);
    };
    sets.train = windows(words, kWikitext2Train);
    sets.validation = windows(words_of(validation), kWikitext2Validation);
    sets.test = windows(words_of(test), kWikitext2Test);
    return sets;
}

}  // namespace

DataEntry wikitext2_data() {
    return {"wikitext2",
            "WikiText-2 by words: 2088628 for training, 217646 for validation, 245569 for "
            "testing; the label of each is the next one",
            false, make_wikitext2, wikitext2_status};
}

}  // namespace dbench::data
