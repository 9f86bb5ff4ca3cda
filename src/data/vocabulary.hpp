#pragma once
// Words as numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dbench::data {

/// The words of a line, which are separated by blanks.
std::vector<std::string_view> blank_separated(std::string_view line);

/// The words of a text, which are separated by blanks; every line ends with the word <eos>.
std::vector<std::string_view> words_of(std::string_view text);

/// The words of a text, numbered from the most frequent on; of equally frequent ones, the first to
/// come first.
class Vocabulary {
public:
    static constexpr std::string_view kUnknown = "<unk>", kEnd = "<eos>";

    /// All words of `text`, or the `limit` most frequent; then <unk> is one of them, and stands for
    /// all others.
    Vocabulary(const std::vector<std::string_view>& text, std::optional<int64_t> limit);

    int64_t size() const { return static_cast<int64_t>(numbers_.size()); }
    /// The numbers of a text's words. Throws UserError where a word has none and the vocabulary is
    /// not limited; `path` names the file.
    std::vector<int32_t> tokens(const std::vector<std::string_view>& text,
                                const std::string& path) const;

private:
    std::unordered_map<std::string, int32_t> numbers_;
    std::optional<int32_t> unknown_;  ///< for words that are not there; nothing: they are refused
};

}  // namespace dbench::data
