#include "base/file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/folder.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("A rename without replacing leaves both files if the name is taken") {
    const Folder folder;
    write_synced("the note", folder / "note.partial", "new");
    write_synced("the note", folder / "note", "old");
    CHECK_THROWS_AS(rename_file("the note", folder / "note.partial", folder / "note", false),
                    RunError);
    CHECK(contents(folder / "note") == "old");
    CHECK(contents(folder / "note.partial") == "new");
    rename_file("the note", folder / "note.partial", folder / "note", true);
    CHECK(contents(folder / "note") == "new");
    rename_file("the note", folder / "note", folder / "other", false);
    CHECK(contents(folder / "other") == "new");
    CHECK(folder.entries() == 1);
}

TEST_CASE("A file is replaced, and no temporary file is left") {
    const Folder folder;
    replace_file("the note", folder / "note", "first");
    CHECK(contents(folder / "note") == "first");
    replace_file("the note", folder / "note", "2");
    CHECK(contents(folder / "note") == "2");
    write_synced("the note", folder / "note", "third");
    sync_folder(folder.path());
    CHECK(contents(folder / "note") == "third");
    CHECK(folder.entries() == 1);
}

TEST_CASE("Replacing a link does not write to its target") {
    const Folder folder;
    write_synced("the file", folder / "precious", "precious");
    for (const char* link : {"note", "note.partial"}) {
        fs::create_symlink(folder / "precious", folder / link);
        replace_file("the note", folder / "note", "news");
        CHECK(contents(folder / "note") == "news");
        CHECK(contents(folder / "precious") == "precious");
        fs::remove(folder / "note");
    }
    fs::create_symlink(folder / "precious", folder / "synced");
    write_synced("the note", folder / "synced", "news");
    CHECK(contents(folder / "precious") == "precious");
}

TEST_CASE("An error names the file and the reason, and the old file is kept") {
    const Folder folder;
    CHECK_THROWS_WITH(replace_file("the note", folder / "no/note", "text"),
                      "the note " + (folder / "no/note") +
                          ".partial cannot be created: No such file or directory");
    fs::create_directories(folder / "taken");
    CHECK_THROWS_AS(replace_file("the note", folder / "taken", "text"), RunError);
    CHECK(fs::is_directory(folder / "taken"));
    CHECK_FALSE(fs::exists(folder / "taken.partial"));
}

}  // namespace dbench::base
