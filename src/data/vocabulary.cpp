#include "data/vocabulary.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::data {

std::vector<std::string_view> blank_separated(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r\v\f";
    std::vector<std::string_view> words;
    for (size_t at = line.find_first_not_of(kBlanks); at != line.npos;
         at = line.find_first_not_of(kBlanks)) {
        line.remove_prefix(at);
        const size_t end = std::min(line.find_first_of(kBlanks), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
    return words;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const size_t length = std::min(text.find('\n'), text.size());
        for (const std::string_view word : blank_separated(text.substr(0, length))) {
            words.push_back(word);
        }
        text.remove_prefix(std::min(length + 1, text.size()));
        words.push_back(Vocabulary::kEnd);
    }
    return words;
}

Vocabulary::Vocabulary(const std::vector<std::string_view>& text, std::optional<int64_t> limit) {
    struct Count {
        std::string_view word;
        int64_t times;
    };
    std::vector<Count> counts;  // In the order of first occurrence.
    std::unordered_map<std::string_view, size_t> place;
    for (const std::string_view word : text) {
        const auto [at, fresh] = place.try_emplace(word, counts.size());
        if (fresh) counts.push_back({word, 0});
        ++counts[at->second].times;
    }
    std::stable_sort(counts.begin(), counts.end(),
                     [](const Count& a, const Count& b) { return a.times > b.times; });
    if (limit) {
        const auto most = static_cast<size_t>(*limit);
        if (counts.size() > most) counts.resize(most);
        if (std::ranges::find(counts, kUnknown, &Count::word) == counts.end()) {
            if (counts.size() == most) counts.pop_back();
            counts.push_back({kUnknown, 0});
        }
    }
    for (const Count& each : counts) {
        numbers_.emplace(each.word, static_cast<int32_t>(numbers_.size()));
    }
    if (limit) unknown_ = numbers_.at(std::string(kUnknown));
}

std::vector<int32_t> Vocabulary::tokens(const std::vector<std::string_view>& text,
                                        const std::string& path) const {
    std::vector<int32_t> tokens;
    tokens.reserve(text.size());
    for (const std::string_view word : text) {
        const auto at = numbers_.find(std::string(word));
        if (at == numbers_.end() && !unknown_) {
            throw base::UserError(
                path + ": word " + std::to_string(tokens.size() + 1) + ", '" +
                std::string(word.substr(0, 40)) +
                "', does not occur in the training text, so it is not in the "
                "vocabulary: set /data/vocabulary, which replaces unknown words by " +
                std::string(kUnknown) + ", or get the files again");
        }
        tokens.push_back(at == numbers_.end() ? *unknown_ : at->second);
    }
    return tokens;
}

}  // namespace dbench::data
