// The data set text: any file as bytes. Each byte is a token, so the vocabulary has 256 tokens and
// every file can be read.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "data/files.hpp"
#include "data/sets/sets.hpp"
#include "data/token_set.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBytes = 256, kTextMost = int64_t{1} << 31;
constexpr const char* kTextSource = "its source";

// Reads a text without its byte order mark, and adds the digest of the whole file to `sets`.
DataFile read_text(const std::string& path, DataSets& sets) {
    DataFile file = read_data_file(path, kTextMost, kTextSource);
    if (file.size > kTextMost) {
        throw base::UserError(path + ": is longer than 2 GiB: use a part of it");
    }
    if (file.size == 0) {
        throw base::UserError(path + ": is empty: name a text file");
    }
    sets.digests.emplace_back(fs::path(path).filename().string(), digest(file.bytes), file.size,
                              path);
    const std::string head(file.bytes.begin(),
                           file.bytes.begin() + std::min<int64_t>(file.size, 4));
    const auto mark = std::ssize(head) - std::ssize(base::without_byte_order_mark(head, path));
    file.bytes.erase(file.bytes.begin(), file.bytes.begin() + mark);
    file.size -= mark;
    return file;
}

std::vector<int32_t> tokens_of(const DataFile& file, int64_t first, int64_t last) {
    return {file.bytes.begin() + first, file.bytes.begin() + last};
}

struct TextSpec {
    std::string path;
    std::optional<std::string> test;  ///< Path; empty: the last tenth of `path`.
    int64_t sequence;                 ///< Tokens per sample.

    static const base::Section<TextSpec>& section();
};

const base::Section<TextSpec>& TextSpec::section() {
    static const base::Section<TextSpec> keys{
        {base::Parameter::text("path", "", "the file"), &TextSpec::path},
        {base::Parameter::text("test", "null", "the file for testing; null: the last tenth of path")
             .or_null(),
         &TextSpec::test},
        {sequence_parameter(), &TextSpec::sequence},
    };
    return keys;
}

DataSets make_text(const TextSpec& spec, const DataSpec&, const DataContext&) {
    const int64_t length = spec.sequence;
    DataSets sets;
    const DataFile file = read_text(named_file(spec.path, "path"), sets);
    const bool own_file = spec.test.has_value();
    const int64_t train = own_file ? file.size : file.size - file.size / 10;
    sets.train = token_set(tokens_of(file, 0, train), kBytes, length, file.path);
    if (own_file) {
        const DataFile other = read_text(named_file(*spec.test, "test"), sets);
        sets.test = token_set(tokens_of(other, 0, other.size), kBytes, length, other.path);
    } else {
        sets.test = token_set(tokens_of(file, train, file.size), kBytes, length,
                              file.path + " (its last tenth, for testing)");
    }
    return sets;
}

}  // namespace

DataEntry text_data() {
    return {"text", "any text file, byte by byte: 256 tokens; the label of each is the next one",
            false, make_text, [](const std::string&) {
                return DataStatus{"text", true, "your files, named in a spec"};
            }};
}

}  // namespace dbench::data
