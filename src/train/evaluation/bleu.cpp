#include "train/evaluation/bleu.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace dbench::train {
namespace {

constexpr size_t kOrders = 4;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

/// True for ASCII punctuation except apostrophe, dash, full stop and comma.
bool is_symbol(char c) {
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// Returns the number of bytes of the blank with which `text` begins; 0 if it begins with none.
/// Blanks are those of Python's str.split(), with which sacreBLEU ends.
size_t blank_size(std::string_view text) {
    const char c = text.front();
    if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f')) return 1;
    for (const std::string_view blank :
         {"\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
          "\xe2\x81\x9f", "\xe3\x80\x80"}) {
        if (text.starts_with(blank)) return blank.size();
    }
    // U+2000 to U+200A.
    const bool space = text.size() >= 3 && text.starts_with("\xe2\x80") &&
                       static_cast<unsigned char>(text[2]) >= 0x80 &&
                       static_cast<unsigned char>(text[2]) <= 0x8a;
    return space ? 3 : 0;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
    return text;
}

/// Replaces, from left to right, each pair of characters for which `found` is true by `written`.
/// Pairs do not overlap.
template <class Found, class Written>
std::string pairwise(const std::string& text, const Found& found, const Written& written) {
    std::string out;
    for (size_t k = 0; k < text.size(); ++k) {
        if (k + 1 < text.size() && found(text[k], text[k + 1])) {
            out += written(text[k], text[k + 1]);
            ++k;
        } else {
            out += text[k];
        }
    }
    return out;
}

using Grams = std::map<std::vector<std::string>, double>;

Grams grams(const std::vector<std::string>& tokens, size_t n) {
    Grams out;
    for (size_t k = 0; k + n <= tokens.size(); ++k) {
        ++out[{tokens.begin() + static_cast<std::ptrdiff_t>(k),
               tokens.begin() + static_cast<std::ptrdiff_t>(k + n)}];
    }
    return out;
}

}  // namespace

std::vector<std::string> bleu_tokens(std::string_view line) {
    std::string text = replaced(std::string(line), "<skipped>", "");
    for (const auto& [name, character] :
         {std::pair{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}}) {
        text = replaced(text, name, character);
    }
    std::string spaced = " ";
    for (const char c : text + " ") {
        is_symbol(c) ? spaced.append({' ', c, ' '}) : spaced.append({c});
    }
    const auto after = [](char a, char b) { return std::string{a, ' ', b, ' '}; };
    const auto before = [](char a, char b) { return std::string{' ', a, ' ', b}; };
    spaced = pairwise(
        spaced, [](char a, char b) { return !is_digit(a) && is_stop(b); }, after);
    spaced = pairwise(
        spaced, [](char a, char b) { return is_stop(a) && !is_digit(b); }, before);
    spaced = pairwise(
        spaced, [](char a, char b) { return is_digit(a) && b == '-'; }, after);

    std::vector<std::string> tokens;
    bool in_token = false;
    for (size_t k = 0; k < spaced.size();) {
        const size_t blank = blank_size(std::string_view(spaced).substr(k));
        if (blank == 0 && !in_token) tokens.emplace_back();
        if (blank == 0) tokens.back() += spaced[k];
        in_token = blank == 0;
        k += std::max<size_t>(blank, 1);
    }
    return tokens;
}

BleuCounts bleu_counts(std::string_view hypothesis, std::string_view reference) {
    const auto ours = bleu_tokens(hypothesis), theirs = bleu_tokens(reference);
    BleuCounts counts{};
    for (size_t n = 1; n <= kOrders; ++n) {
        const Grams there = grams(theirs, n);
        for (const auto& [gram, times] : grams(ours, n)) {
            const auto at = there.find(gram);
            if (at != there.end()) counts[n - 1] += std::min(times, at->second);
            counts[kOrders + n - 1] += times;
        }
    }
    counts[2 * kOrders] = static_cast<double>(ours.size());
    counts[2 * kOrders + 1] = static_cast<double>(theirs.size());
    return counts;
}

double bleu(const BleuCounts& counts) {
    double sum = 0, halves = 1;
    bool any = false;
    for (size_t n = 0; n < kOrders; ++n) {
        const double right = counts[n], all = counts[kOrders + n];
        if (all == 0) return 0;
        any = any || right > 0;
        if (right == 0) halves *= 2;
        sum += std::log(right > 0 ? right / all : 1 / (halves * all));
    }
    if (!any) return 0;
    const double ours = counts[2 * kOrders], theirs = counts[2 * kOrders + 1];
    const double brevity = ours < theirs ? std::exp(1 - theirs / ours) : 1;
    return 100 * brevity * std::exp(sum / kOrders);
}

}  // namespace dbench::train
