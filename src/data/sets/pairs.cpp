// The data set pairs: two text files; line k of one is the translation of line k of the other.

#include "data/sets/pairs.hpp"

#include <filesystem>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "data/byte_pairs.hpp"
#include "data/piece_file.hpp"
#include "data/sentence_pairs.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kPairsMost = int64_t{1} << 31;

/// Reads the lines of the file `name`, the value of /data/`key`.
std::vector<std::string> read_pairs(const std::string& name, const std::string& key,
                                    DataSets& sets) {
    const std::string path = named_file(name, key);
    const DataFile file = read_data_file(path, kPairsMost, "its source");
    if (file.size > kPairsMost) {
        throw base::UserError(path + ": is longer than 2 GiB: use a part of it");
    }
    sets.digests.emplace_back(std::filesystem::path(path).filename().string(), digest(file.bytes),
                              file.size, path);
    return lines_of(file);
}

/// Returns the lines from `first` to `last` - 1.
ParallelText lines(const ParallelText& text, size_t first, size_t last) {
    const auto part = [&](const std::vector<std::string>& of) {
        return std::vector<std::string>(of.begin() + static_cast<std::ptrdiff_t>(first),
                                        of.begin() + static_cast<std::ptrdiff_t>(last));
    };
    return {part(text.source), part(text.target)};
}

BytePairs learnt(int64_t vocabulary, const ParallelText& train) {
    std::vector<std::string> lines = train.source;
    lines.insert(lines.end(), train.target.begin(), train.target.end());
    return {lines, vocabulary};
}

/// Returns the first `wanted` pieces of the file `name`, the value of /data/pieces; adds its digest
/// to the checksums.
BytePairs of_file(const std::string& name, int64_t wanted, DataSets& sets) {
    const std::string path = named_file(name, "pieces");
    const BytePairs all = read_pieces(path);
    if (wanted > all.size()) {
        throw base::UserError("/data/vocabulary: " + std::to_string(wanted) + " is more than the " +
                              std::to_string(all.size()) + " pieces of " + path +
                              ": use at most that many, or make a larger file with `dbench data "
                              "pieces`");
    }
    sets.digests.emplace_back(std::filesystem::path(path).filename().string(), digest(all.text()),
                              std::ssize(all.text()), path);
    return all.first(wanted);
}

struct PairsSpec : PiecesSpec {
    std::string source, target;  ///< The file to translate, and its translation.

    static const base::Section<PairsSpec>& section();
};

const base::Section<PairsSpec>& PairsSpec::section() {
    static const base::Section<PairsSpec> keys{
        {{base::Parameter::text("source", "", "the file to translate"), &PairsSpec::source},
         {base::Parameter::text("target", "", "its translation"), &PairsSpec::target}},
        PiecesSpec::section()};
    return keys;
}

DataSets make_pairs(const PairsSpec& spec, const DataSpec&, const DataContext&) {
    DataSets sets;
    const ParallelText all{read_pairs(spec.source, "source", sets),
                           read_pairs(spec.target, "target", sets)};
    const size_t count = all.source.size();
    if (count != all.target.size() || count < 2) {
        throw base::UserError("/data/target: " + spec.target + " has " +
                              std::to_string(all.target.size()) + " lines, and /data/source " +
                              std::to_string(count) +
                              ": name two files with the same number of lines (at least two) that "
                              "translate each other");
    }
    const size_t train = count - std::max<size_t>(1, count / 10);
    add_pairs(sets, spec, lines(all, 0, train), {}, lines(all, train, count));
    return sets;
}

}  // namespace

std::vector<std::string> lines_of(const DataFile& text) {
    std::istringstream in(text_of(text));
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(std::move(line));
    return out;
}

const base::Section<PiecesSpec>& PiecesSpec::section() {
    static const base::Section<PiecesSpec> keys{
        {base::Parameter::integer("vocabulary", "4000", "byte-pair pieces of both languages")
             .at_least(BytePairs::kMerged)
             .at_most(1 << 24),
         &PiecesSpec::vocabulary},
        {base::Parameter::text("pieces", "null",
                               "a file made by `dbench data pieces`, whose first pieces "
                               "are used; null: learn them from the training text")
             .or_null(),
         &PiecesSpec::pieces},
    };
    return keys;
}

void add_pairs(DataSets& sets, const PiecesSpec& spec, const ParallelText& train,
               const ParallelText& validation, const ParallelText& test) {
    const auto pieces =
        std::make_shared<const BytePairs>(spec.pieces ? of_file(*spec.pieces, spec.vocabulary, sets)
                                                      : learnt(spec.vocabulary, train));
    sets.digests.emplace_back("byte pairs", digest(pieces->text()));
    const auto pairs = [&](const ParallelText& of) {
        return sentence_pairs(of.source, of.target, pieces);
    };
    sets.train = pairs(train);
    sets.test = pairs(test);
    if (!validation.source.empty()) sets.validation = pairs(validation);
}

DataEntry pairs_data() {
    return {"pairs",
            "two text files that translate each other line by line; the last tenth is for "
            "testing",
            false, make_pairs, [](const std::string&) {
                return DataStatus{"pairs", true, "your files, named in a spec"};
            }};
}

}  // namespace dbench::data
