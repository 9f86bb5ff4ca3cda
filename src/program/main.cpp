// The program dbench: parses the command line and calls a subcommand (commands.hpp).

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/path_text.hpp"
#include "comm/transport/launcher.hpp"
#include "program/abort_job.hpp"
#include "program/command_line/command_line.hpp"
#include "program/memory.hpp"
#include "train/device/device.hpp"

namespace {

using namespace dbench;

// Opens /dev/null as standard input, output or error where it is closed. Otherwise the next file
// that is opened gets its number, and messages are written into that file.
void open_standard_streams() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
        [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);  // the lowest free number
    }
}

// Throws UserError if a word of the command line names no command of `app`.
void refuse_unknown_command(const CLI::App& app, const std::string& word) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    if (word.starts_with("-") || std::find(names.begin(), names.end(), word) != names.end()) return;
    if (word.ends_with(".json")) {
        throw base::UserError(word + ": is not a command: try dbench run " + word +
                              ", or dbench check " + word);
    }
    throw base::UserError("'" + word + "' is not a command" + base::suggest_name(word, names));
}

// Throws UserError if an argument is empty: an unset variable of a shell would otherwise change
// what the words next to it mean.
void refuse_empty_arguments(int argc, char** argv) {
    for (int k = 1; k < argc; ++k) {
        const std::string word = argv[k], before = argv[k - 1];
        const bool option = word.starts_with("--") && word.find('=') + 1 == word.size();
        if (!option && !word.empty()) continue;
        std::string what = "an argument";
        if (option) what = word.substr(0, word.size() - 1);
        if (word.empty() && k > 1 && before.starts_with("--")) what = before;
        throw base::UserError(what +
                              ": the value is empty (is a variable of the shell not set?): "
                              "give a value, or leave the option out");
    }
}

// Throws UserError if an option took the next option for its value.
void refuse_options_as_values(CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_lnames().empty()) continue;
        for (const std::string& value : option->results()) {
            if (!value.starts_with("--")) continue;
            throw base::UserError(option->get_name() + ": the value is missing (the next word is " +
                                  value + "): give a value, or leave the option out");
        }
    }
    for (CLI::App* each : command.get_subcommands()) refuse_options_as_values(*each);
}

int dispatch(int argc, char** argv) {
    refuse_empty_arguments(argc, argv);
    CLI::App app{
        "DBench trains n model replicas with centralized or decentralized SGD and records "
        "how far they drift apart."};
    app.name("dbench");
    app.require_subcommand(1);

    app.set_version_flag("--version", program::version_text, "print version, build and libraries");
    program::CommandLine line;
    line.run.command.assign(argv, argv + argc);
    program::add_training_commands(app, line);
    program::add_prediction_commands(app, line);
    program::add_inspection_commands(app, line);
    program::add_data_commands(app, line);

    if (argc > 1) refuse_unknown_command(app, argv[1]);
    if (argc > 2 && std::string(argv[1]) == "data")
        refuse_unknown_command(*app.get_subcommand("data"), argv[2]);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : base::kExitUser;
    }
    refuse_options_as_values(app);
    for (const auto& [value, option] : {std::pair{&line.calibrate.run.output, "--output"},
                                        {&line.predict.calibration, "--calibration"},
                                        {&line.run.calibration, "--calibration"},
                                        {&line.packing.target, "TARGET"},
                                        {&line.pieces.output, "--output"},
                                        {&line.doctor.links, "--links"}}) {
        base::check_path_text(*value, option);
    }
    if (!line.collective) return line.alone();
    comm::World world{comm::launch()};
    try {
        program::run_on_all_ranks(world, [] { train::threads_of_environment(); });
        return line.collective(world);
    } catch (const base::UserError& error) {
        // All ranks throw the same error; only rank 0 prints it.
        if (world.rank() == 0) base::report_error(error.what());
        return base::kExitUser;
    }
}

int command(int argc, char** argv) {
    open_standard_streams();
    try {
        return dispatch(argc, argv);
    } catch (const base::UserError& error) {
        base::report_error(error.what());
        return base::kExitUser;
    } catch (const std::filesystem::filesystem_error& error) {
        base::report_error(error.path1().string() + ": cannot be used (" + error.code().message() +
                           "): check the path and its permissions");
        return base::kExitUser;
    } catch (const std::exception& error) {
        const bool memory = program::is_out_of_memory(error);
        base::report_error(memory ? program::memory_message(error) : base::reason_of(error));
        return memory || program::is_user_error(error) ? base::kExitUser : base::kExitFailed;
    }
}

/// Ends the process without running the destructors of static objects. LibTorch's static
/// destructors take a third of the time of a short command and only free memory that the system
/// reclaims anyway. This is safe: the command has already destroyed every object that holds files,
/// locks, threads or MPI, HDF5 is configured not to close anything at exit, and MPI's own exit
/// handlers still run. Builds with sanitizers exit normally, since leak detection runs after the
/// static destructors.
[[noreturn]] void leave(int status) {
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;  // std::cout's too
    if (!written && status == 0) {
        base::report_error("cannot write all to standard output (no space, or it is closed)");
        status = base::kExitFailed;
    }
#ifdef DBENCH_SANITIZED
    std::exit(status);
#else
    comm::leave(status);
#endif
}

}  // namespace

int main(int argc, char** argv) { leave(command(argc, argv)); }
