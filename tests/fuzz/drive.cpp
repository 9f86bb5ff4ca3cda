// Drives a fuzz target without libFuzzer: first every input of the corpus unchanged, then mutated
// inputs until the time is over. The same seed gives the same inputs in the same order.
//
//   fuzz_spec CORPUS [SECONDS] [SEED]       a failing input is kept as fuzz_failed.bin
//
// Exit status 0 on success, 2 for a wrong command line. A crash or an input that takes longer than
// ten seconds ends the process by a signal.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "fuzz.hpp"

namespace {

using namespace dbench;

constexpr unsigned kMostSeconds = 10;  // For one input.
constexpr size_t kMostBytes = 1 << 20;

std::string current;

void keep(int signal) {
    const int file = ::open("fuzz_failed.bin", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    [[maybe_unused]] const auto written = ::write(file, current.data(), current.size());
    const char* text = signal == SIGALRM ? "fuzz: an input took too long: fuzz_failed.bin\n"
                                         : "fuzz: an input failed: fuzz_failed.bin\n";
    [[maybe_unused]] const auto said =
        ::write(STDERR_FILENO, text, std::char_traits<char>::length(text));
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

void attempt(std::string input) {
    current = std::move(input);
    ::alarm(kMostSeconds);
    fuzz::read_or_refuse(current);
    ::alarm(0);
}

std::vector<std::string> corpus(const std::string& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> inputs;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return inputs;
}

class Changes {
public:
    Changes(const std::vector<std::string>& corpus, uint64_t seed) : corpus_(corpus), bits_(seed) {
        for (const char* const* word = fuzz::kWords; *word; ++word) words_.emplace_back(*word);
    }

    std::string next() {
        std::string text = corpus_[below(corpus_.size())];
        for (size_t k = below(6); k < 6; ++k) change(text);
        if (text.size() > kMostBytes) text.resize(kMostBytes);
        return text;
    }

private:
    size_t below(size_t end) { return end == 0 ? 0 : bits_() % end; }
    size_t place(const std::string& text) { return below(text.size() + 1); }

    void change(std::string& text) {
        const size_t at = place(text), length = 1 + below(64);
        switch (below(8)) {
            case 0:  // Flip one bit.
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(below(256));
                break;
            case 2:
                text.erase(at, length);
                break;
            case 3:
                text.resize(at);
                break;
            case 4:  // Repeat a piece, sometimes often.
                text.insert(at, repeated(text.substr(at, length)));
                break;
            case 5:  // Insert a piece of another input.
            {
                const std::string& other = corpus_[below(corpus_.size())];
                text.insert(at, other, place(other), length * 4);
                break;
            }
            case 6:  // Overwrite with extreme numbers.
                for (size_t k = 0; k < 8 && at + k < text.size(); ++k) {
                    text[at + k] = below(2) ? '\xff' : '\0';
                }
                break;
            default:
                text.replace(at, below(length), words_[below(words_.size())]);
        }
    }

    std::string repeated(const std::string& piece) {
        std::string text;
        for (size_t many = below(4) ? 1 : below(200); many > 0; --many) text += piece;
        return text;
    }

    const std::vector<std::string>& corpus_;
    std::vector<std::string> words_;
    std::mt19937_64 bits_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s CORPUS [SECONDS] [SEED]\n", argv[0]);
        return 2;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
        std::signal(signal, keep);
    }
    const std::vector<std::string> inputs = corpus(argv[1]);
    if (inputs.empty()) {
        std::fprintf(stderr, "fuzz: no inputs in %s\n", argv[1]);
        return 2;
    }
    for (const std::string& input : inputs) attempt(input);
    const double seconds = argc > 2 ? std::atof(argv[2]) : 10;
    Changes changes(inputs, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
    int64_t tried = 0;
    for (const base::Stopwatch watch; watch.seconds() < seconds; ++tried) attempt(changes.next());
    std::printf("fuzz: %zu inputs of the corpus, %lld changed ones, none failed\n", inputs.size(),
                static_cast<long long>(tried));
    return 0;
}
