#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "bench/commands.hpp"
#include "bench/progress.hpp"
#include "data/photographs.hpp"

namespace dbench::bench {
namespace {

namespace fs = std::filesystem;
using base::UserError;

// One line that goes on on a terminal; in a log one about every ten seconds.
class Lines {
public:
    explicit Lines(int64_t all) : all_(all), terminal_(isatty(STDERR_FILENO) == 1) {}

    void show(int64_t done, int64_t bytes) {
        constexpr double kTerminal = 0.1, kLog = 10;  // seconds between two
        const double spent = clock_.seconds();
        if (spent < next_ && done < all_) return;
        next_ = spent + (terminal_ ? kTerminal : kLog);
        const double left = spent * static_cast<double>(all_ - done) / static_cast<double>(done);
        const std::string time =
            done < all_ ? "ETA " + duration_text(left) : "took " + duration_text(spent);
        std::fprintf(stderr, "%s%3lld %% (%lld of %lld)  %s  %s%s",
                     terminal_ ? "\r" : "dbench: ", static_cast<long long>(100 * done / all_),
                     static_cast<long long>(done), static_cast<long long>(all_),
                     base::bytes_text(static_cast<double>(bytes)).c_str(), time.c_str(),
                     terminal_ ? "\033[K" : "\n");
        if (terminal_ && done == all_) std::fputc('\n', stderr);
    }

private:
    int64_t all_;
    bool terminal_;
    base::Stopwatch clock_;
    double next_ = 0;
};

void print(const data::Photographs& photographs) {
    std::printf("%lld photographs in %zu classes, %s\n", static_cast<long long>(photographs.size()),
                photographs.classes.size(), photographs.digest().c_str());
}

}  // namespace

int command_data_pack(const PackArguments& arguments) {
    std::error_code ignored;
    if (fs::is_directory(arguments.file, ignored)) {
        throw UserError("data pack: " + arguments.file + " is a folder: name a file");
    }
    if (!arguments.force && fs::exists(arguments.file, ignored)) {
        throw UserError("data pack: " + arguments.file +
                        " exists already: choose another file, or replace it with --force");
    }
    const auto photographs = data::photographs_in(
        arguments.folder, arguments.by_name ? data::ClassBy::name : data::ClassBy::folder, true);
    Lines lines(photographs->size());
    try {
        data::pack(*photographs, arguments.file, [&](int64_t done, int64_t bytes) {
            if (!arguments.quiet) lines.show(done, bytes);
        });
    } catch (const base::RunError& error) {
        throw UserError(std::string("data pack: ") + error.what());
    }
    print(*data::packed_photographs(arguments.file));
    return 0;
}

int command_data_verify(const std::string& file) {
    const auto photographs = data::packed_photographs(file);
    std::vector<uint8_t> room;
    for (int64_t k = 0; k < photographs->size(); ++k) photographs->bytes(k, room);
    print(*photographs);
    return 0;
}

}  // namespace dbench::bench
