#include "data/byte_pairs.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "data/vocabulary.hpp"

namespace dbench::data {
namespace {

bool in_word(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 128 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

/// Returns the units that are encoded independently: runs of letters and digits, and runs of other
/// characters; the first one of a word includes the blank before it.
std::vector<std::string> words_with_blanks(std::string_view line) {
    std::vector<std::string> out;
    for (const std::string_view word : blank_separated(line)) {
        out.emplace_back(" ");
        for (size_t k = 0; k < word.size(); ++k) {
            if (k > 0 && in_word(word[k]) != in_word(word[k - 1])) out.emplace_back();
            out.back() += word[k];
        }
    }
    return out;
}

std::vector<int32_t> byte_pairs_bytes_of(const std::string& word) {
    std::vector<int32_t> out;
    for (const char c : word) {
        out.push_back(BytePairs::kBytes + static_cast<unsigned char>(c));
    }
    return out;
}

uint64_t key(std::pair<int32_t, int32_t> pair) {
    return static_cast<uint64_t>(pair.first) << 32 | static_cast<uint32_t>(pair.second);
}

/// Replaces every occurrence of `pair`, from the left, by `piece`. Calls `turned(old, made)` for
/// each pair of a replaced piece and its neighbour: `old` occurs once less, and `made` once more.
template <class Turned>
void merge(std::vector<int32_t>& word, std::pair<int32_t, int32_t> pair, int32_t piece,
           const Turned& turned) {
    using Pair = std::pair<int32_t, int32_t>;
    size_t to = 0;
    for (size_t k = 0; k < word.size(); ++k) {
        if (k + 1 == word.size() || Pair{word[k], word[k + 1]} != pair) {
            word[to++] = word[k];
            continue;
        }
        if (to > 0) turned(Pair{word[to - 1], pair.first}, Pair{word[to - 1], piece});
        if (++k + 1 < word.size()) turned(Pair{pair.second, word[k + 1]}, Pair{piece, word[k + 1]});
        word[to++] = piece;
    }
    word.resize(to);
}

}  // namespace

std::string normalised(std::string_view line) {
    std::string out;
    for (const std::string_view word : blank_separated(line)) {
        if (!out.empty()) out += ' ';
        out += word;
    }
    return out;
}

void BytePairs::add(Pair pair) {
    pieces_.emplace(key(pair), static_cast<int32_t>(size()));
    merges_.push_back(pair);
    texts_.push_back(texts_[pair.first] + texts_[pair.second]);
}

BytePairs::BytePairs(std::span<const Pair> merges) : texts_(kBytes) {
    for (int byte = 0; byte < 256; ++byte) texts_.emplace_back(1, static_cast<char>(byte));
    for (const Pair& pair : merges) add(pair);
}

std::string BytePairs::problem(std::span<const Pair> merges) {
    std::unordered_set<uint64_t> seen;
    int64_t piece = kMerged;
    for (const Pair& pair : merges) {
        const auto known = [&](int32_t part) { return part >= kBytes && part < piece; };
        const std::string made = "piece " + std::to_string(piece);
        if (!known(pair.first) || !known(pair.second)) {
            return made + " is made of pieces that are not earlier pieces";
        }
        if (!seen.insert(key(pair)).second) return made + " is made of the same pair as another";
        ++piece;
    }
    return "";
}

BytePairs BytePairs::first(int64_t size) const {
    DBENCH_EXPECT(size >= kMerged && size <= this->size());
    return BytePairs(std::span(merges_).first(static_cast<size_t>(size - kMerged)));
}

BytePairs::BytePairs(const std::vector<std::string>& lines, int64_t size)
    : BytePairs(std::span<const Pair>()) {
    struct Word {
        std::vector<int32_t> pieces;
        int64_t times;
    };
    std::unordered_map<std::string, int64_t> counted;
    for (const std::string& line : lines) {
        for (const std::string& word : words_with_blanks(line)) ++counted[word];
    }
    std::vector<Word> words;
    for (const auto& [word, times] : counted) words.push_back({byte_pairs_bytes_of(word), times});

    struct Place {
        int64_t times = 0;
        std::vector<size_t> words;  // Words that contain the pair, or contained it.
    };
    std::unordered_map<uint64_t, Place> places;
    struct Candidate {
        int64_t times;
        Pair pair;
        bool operator<(const Candidate& other) const {
            return times != other.times ? times < other.times : pair > other.pair;
        }
    };
    std::priority_queue<Candidate> candidates;  // May hold outdated counts.
    std::vector<Pair> changed;
    const auto more = [&](Pair pair, int64_t times, size_t w) {
        Place& place = places[key(pair)];
        place.times += times;
        if (times > 0) place.words.push_back(w);
        changed.push_back(pair);
    };
    const auto offer_changed = [&] {
        std::ranges::sort(changed);
        changed.erase(std::ranges::unique(changed).begin(), changed.end());
        for (const Pair& pair : changed) candidates.push({places[key(pair)].times, pair});
        changed.clear();
    };
    for (size_t w = 0; w < words.size(); ++w) {
        const auto& [pieces, times] = words[w];
        for (size_t k = 0; k + 1 < pieces.size(); ++k) more({pieces[k], pieces[k + 1]}, times, w);
    }
    offer_changed();
    while (this->size() < size && !candidates.empty()) {
        const Candidate best = candidates.top();
        candidates.pop();
        Place& place = places[key(best.pair)];
        if (best.times != place.times) continue;
        if (best.times < 2) break;
        const auto piece = static_cast<int32_t>(this->size());
        add(best.pair);
        for (const size_t w : std::exchange(place.words, {})) {
            auto& [pieces, times] = words[w];
            merge(pieces, best.pair, piece, [&, n = times](Pair old, Pair made) {
                more(old, -n, w);
                more(made, n, w);
            });
        }
        places[key(best.pair)].times = 0;
        offer_changed();
    }
}

std::vector<int32_t> BytePairs::encode_word(const std::string& word) const {
    std::vector<int32_t> pieces = byte_pairs_bytes_of(word);
    while (true) {
        Pair pair;
        int32_t first = 0;  // Piece of the earliest merge found so far; 0: none.
        for (size_t k = 0; k + 1 < pieces.size(); ++k) {
            const auto at = pieces_.find(key({pieces[k], pieces[k + 1]}));
            if (at == pieces_.end() || (first > 0 && at->second >= first)) continue;
            first = at->second;
            pair = {pieces[k], pieces[k + 1]};
        }
        if (first == 0) return pieces;
        merge(pieces, pair, first, [](Pair, Pair) {});
    }
}

std::vector<std::vector<int32_t>> BytePairs::encode(const std::vector<std::string>& lines) const {
    std::unordered_map<std::string, std::vector<int32_t>> known;
    std::vector<std::vector<int32_t>> out;
    for (const std::string& line : lines) {
        std::vector<int32_t>& pieces = out.emplace_back();
        for (const std::string& word : words_with_blanks(line)) {
            const auto [at, fresh] = known.try_emplace(word);
            if (fresh) at->second = encode_word(word);
            pieces.insert(pieces.end(), at->second.begin(), at->second.end());
        }
    }
    return out;
}

std::string BytePairs::decode(std::span<const int64_t> pieces) const {
    std::string out;
    for (const int64_t piece : pieces) {
        DBENCH_EXPECT(piece >= 0 && piece < size());
        out += texts_[static_cast<size_t>(piece)];
    }
    return out.starts_with(' ') ? out.substr(1) : out;
}

std::string BytePairs::text() const {
    std::string out;
    for (const auto& [left, right] : merges_) {
        out += std::to_string(left) + " " + std::to_string(right) + "\n";
    }
    return out;
}

}  // namespace dbench::data
