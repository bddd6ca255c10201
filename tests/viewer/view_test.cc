// Behaviour common to all views: when they work, and how they are listed.
#include "viewer/views/view.h"

#include <gmock/gmock.h>

#include "tests/viewer/window_fixture.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

// A view that counts its refreshes.
class CountingView : public View {
 public:
  using View::View;
  int refreshed = 0;
  void Touch() { Invalidate(); }

 protected:
  void Refresh() override { ++refreshed; }
};

TEST(ViewTest, WorksOnlyWhileItIsSeen) {
  Document document;
  Selection selection;
  CountingView view(&document, &selection);
  view.Touch();
  view.Touch();
  EXPECT_EQ(view.refreshed, 0);
  view.show();
  EXPECT_EQ(view.refreshed, 1) << "once, however often it was changed";
  view.Touch();
  EXPECT_EQ(view.refreshed, 2);
  view.hide();
  view.show();
  EXPECT_EQ(view.refreshed, 2) << "nothing changed in between";
  QString text;
  QTextStream out(&text);
  EXPECT_FALSE(view.WriteCsv(&out));
}

TEST(ViewTest, FieldsOfTablesAreQuotedWhereTheyMust) {
  EXPECT_EQ(CsvField(QStringLiteral("plain")), QStringLiteral("plain"));
  EXPECT_EQ(CsvField(QStringLiteral("a,b")), QStringLiteral("\"a,b\""));
  EXPECT_EQ(CsvField(QStringLiteral("say \"hi\"")), QStringLiteral("\"say \"\"hi\"\"\""));
  EXPECT_EQ(CsvField(QStringLiteral("two\nlines")), QStringLiteral("\"two\nlines\""));
}

TEST(ViewTableTest, NamesAreDifferentAndEveryViewHasAGroup) {
  QStringList names;
  for (const ViewEntry& view : ViewTable()) {
    names << QString::fromUtf8(view.name);
    EXPECT_GT(std::string_view(view.group).size(), 2u);
    EXPECT_GT(std::string_view(view.help).size(), 10u);
    EXPECT_EQ(ViewTable()[static_cast<std::size_t>(ViewIndex(view.kind))].kind, view.kind);
  }
  EXPECT_EQ(names.removeDuplicates(), 0);
  EXPECT_EQ(ViewNames().count(QStringLiteral(" or ")), 1);
}

}  // namespace
}  // namespace memprof::viewer
