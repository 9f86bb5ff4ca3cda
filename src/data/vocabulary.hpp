#pragma once
// Splitting text into words, and numbering words.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dbench::data {

/// Returns the words of a line, which are separated by blanks.
std::vector<std::string_view> blank_separated(std::string_view line);

/// Returns the words of a text, which are separated by blanks; adds the word <eos> at the end of
/// every line.
std::vector<std::string_view> words_of(std::string_view text);

/// The words of a text, numbered by decreasing frequency; words of equal frequency in the order of
/// their first occurrence.
class Vocabulary {
public:
    static constexpr std::string_view kUnknown = "<unk>", kEnd = "<eos>";

    /// Numbers all words of `text`, or only the `limit` most frequent ones. With a limit, <unk> is
    /// one of them and replaces all other words.
    Vocabulary(const std::vector<std::string_view>& text, std::optional<int64_t> limit);

    int64_t size() const { return static_cast<int64_t>(numbers_.size()); }
    /// Returns the numbers of the words of a text. Throws UserError if a word has no number and
    /// there is no limit; `path` names the file.
    std::vector<int32_t> tokens(const std::vector<std::string_view>& text,
                                const std::string& path) const;

private:
    std::unordered_map<std::string, int32_t> numbers_;
    std::optional<int32_t> unknown_;  ///< Number for unknown words; empty: they are an error.
};

}  // namespace dbench::data
