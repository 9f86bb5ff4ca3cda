// The data set pairs: two text files, of which one translates the other line by line.

#include "data/sets/pairs.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "data/byte_pairs.hpp"
#include "data/files.hpp"
#include "data/piece_file.hpp"
#include "data/sentence_pairs.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kPairsMost = int64_t{1} << 31;

std::vector<std::string> read_pairs(const base::Json& spec, const std::string& key,
                                    DataSets& sets) {
    const std::string path = named_file(spec.at(key).get<std::string>(), key);
    const DataFile file = read_data_file(path, kPairsMost, "its source");
    if (file.size > kPairsMost) {
        throw base::UserError(path + ": is longer than 2 GiB: use a part of it");
    }
    sets.checksums.emplace_back(std::filesystem::path(path).filename().string(),
                                digest(file.bytes));
    return lines_of(file.bytes);
}

/// Returns the lines from `first` to `last` - 1.
ParallelText lines(const ParallelText& text, size_t first, size_t last) {
    const auto part = [&](const std::vector<std::string>& of) {
        return std::vector<std::string>(of.begin() + static_cast<std::ptrdiff_t>(first),
                                        of.begin() + static_cast<std::ptrdiff_t>(last));
    };
    return {part(text.source), part(text.target)};
}

BytePairs learnt(const base::Json& spec, const ParallelText& train) {
    std::vector<std::string> lines = train.source;
    lines.insert(lines.end(), train.target.begin(), train.target.end());
    return {lines, spec.at("vocabulary").get<int64_t>()};
}

/// Returns the requested number of pieces of the file that /data/pieces names; adds its digest to
/// the checksums.
BytePairs of_file(const base::Json& spec, DataSets& sets) {
    const std::string path = named_file(spec.at("pieces").get<std::string>(), "pieces");
    const BytePairs all = read_pieces(path);
    const auto wanted = spec.at("vocabulary").get<int64_t>();
    if (wanted > all.size()) {
        throw base::UserError("/data/vocabulary: " + std::to_string(wanted) + " is more than the " +
                              std::to_string(all.size()) + " pieces of " + path +
                              ": use at most that many, or make a larger file with `dbench data "
                              "pieces`");
    }
    sets.checksums.emplace_back(std::filesystem::path(path).filename().string(),
                                digest(all.text()));
    return all.first(wanted);
}

DataSets make_pairs(const base::Json& spec, const DataContext&) {
    DataSets sets;
    const ParallelText all{read_pairs(spec, "source", sets), read_pairs(spec, "target", sets)};
    const size_t count = all.source.size();
    if (count != all.target.size() || count < 2) {
        throw base::UserError("/data/target: " + spec.at("target").get<std::string>() + " has " +
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

std::vector<std::string> lines_of(const std::vector<uint8_t>& text) {
    std::istringstream in({text.begin(), text.end()});
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(std::move(line));
    return out;
}

std::vector<base::Parameter> with_vocabulary(std::vector<base::Parameter> parameters) {
    parameters.push_back(
        base::Parameter::integer("vocabulary", "4000", "byte-pair pieces of both languages")
            .at_least(BytePairs::kMerged)
            .at_most(1 << 24));
    parameters.push_back(
        base::Parameter::text("pieces", "null",
                              "a file made by `dbench data pieces`, whose first pieces "
                              "are used; null: learn them from the training text")
            .or_null());
    return parameters;
}

void add_pairs(DataSets& sets, const base::Json& spec, const ParallelText& train,
               const ParallelText& validation, const ParallelText& test) {
    const auto pieces = std::make_shared<const BytePairs>(
        spec.at("pieces").is_null() ? learnt(spec, train) : of_file(spec, sets));
    sets.checksums.emplace_back("byte pairs", digest(pieces->text()));
    const auto pairs = [&](const ParallelText& of) {
        return sentence_pairs(of.source, of.target, pieces);
    };
    sets.train = pairs(train);
    sets.test = pairs(test);
    if (!validation.source.empty()) sets.validation = pairs(validation);
}

DataEntry pairs_data() {
    return {{"pairs",
             "two text files that translate each other line by line; the last tenth is for "
             "testing",
             with_vocabulary({base::Parameter::text("source", "", "the file to translate"),
                              base::Parameter::text("target", "", "its translation")})},
            false,
            make_pairs,
            [](const std::string&) {
                return DataStatus{"pairs", true, "your files, named in a spec"};
            }};
}

}  // namespace dbench::data
