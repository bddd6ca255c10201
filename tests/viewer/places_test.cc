// Links, notes and captions in the window.
#include "viewer/window/places.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QSettings>
#include <QTableWidget>

#include "tests/viewer/window_fixture.h"
#include "viewer/models/notes.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/notice_bar.h"
#include "viewer/views/what_if_view.h"
#include "viewer/window/notes_dialog.h"
#include "viewer/window/notes_menu.h"

namespace memprof::viewer {
namespace {

class PlacesTest : public testing::WindowFixture {
 protected:
  void OpenAt(const char* fragment) {
    if (log_.isEmpty()) log_ = testing::WriteDemoLog(directory_, {.steps = 12});
    OpenPath(log_ + QLatin1Char('#') + QString::fromUtf8(fragment));
    ASSERT_EQ(window_.document().state(), Document::State::kReady)
        << window_.document().error().toStdString();
  }
  analysis::TimeNs Start() { return window_.document().bounds().begin; }
  QString log_;
};

TEST_F(PlacesTest, ALogOpensWhereItsLinkSays) {
  OpenAt("view=leaks&step=5&window=step2-step8&filter=append&device=0");
  EXPECT_EQ(window_.document().path(), log_);
  EXPECT_EQ(window_.view(), ViewKind::kLeaks);
  const auto steps = window_.document().session()->steps();
  EXPECT_EQ(window_.selection().instant(), steps[5].end - 1);
  EXPECT_EQ(window_.selection().window().begin, steps[2].begin);
  EXPECT_EQ(window_.selection().filter().text, "append");
  EXPECT_NE(window_.document().passing(), nullptr);
  EXPECT_EQ(window_.notice()->text(), QString());
  EXPECT_TRUE(window_.windowTitle().startsWith(QStringLiteral("demo.mprof")));
  // The next log has no link: it opens whole, in the view that is shown.
  OpenPath(log_);
  EXPECT_FALSE(window_.selection().zoomed());
  EXPECT_TRUE(window_.selection().filter().everything());
}

TEST_F(PlacesTest, WhatALinkDoesNotFindIsSaidInOneLine) {
  OpenAt("view=gold&colour=red&step=99");
  EXPECT_EQ(window_.view(), ViewKind::kTimeline);
  const QString said = window_.notice()->text();
  EXPECT_TRUE(said.contains(QStringLiteral("step 99"))) << said.toStdString();
  EXPECT_FALSE(said.contains(QLatin1Char('\n')));
  OpenAt("colour=red");
  EXPECT_TRUE(window_.notice()->text().contains(QStringLiteral("'colour'")));
  OpenPath(log_);
  EXPECT_EQ(window_.notice()->text(), QString()) << "of another log";
}

TEST_F(PlacesTest, TheCopiedLinkShowsTheSameAgain) {
  OpenAt("view=map&step=5");
  const auto session = window_.document().session();
  analysis::AllocationId block;
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    if (session->records()[i].layer == analysis::Layer::kBlock) block = analysis::AllocationId(i);
  window_.selection().SelectAllocation(block, session->record(block).stack);
  window_.selection().SetWindow({Start() + 1'000'001, Start() + 7'000'003});
  QTest::keyClick(&window_, Qt::Key_C, Qt::ControlModifier | Qt::AltModifier);
  window_.WaitUntilSettled();
  const QString copied = QApplication::clipboard()->text();
  ASSERT_TRUE(copied.startsWith(QStringLiteral("memprof-viewer '/"))) << copied.toStdString();
  EXPECT_TRUE(window_.notice()->text().contains(copied));
  const qsizetype quote = copied.indexOf(QLatin1Char('\''));
  MainWindow other(MainWindow::Settings::kIgnored);
  other.Open(copied.mid(quote + 1).chopped(1));
  other.WaitUntilSettled();
  EXPECT_EQ(other.view(), ViewKind::kMap);
  EXPECT_EQ(other.selection().instant(), window_.selection().instant());
  EXPECT_EQ(other.selection().window().begin, window_.selection().window().begin);
  EXPECT_EQ(other.selection().window().end, window_.selection().window().end);
  EXPECT_EQ(other.selection().allocation(), block);
  EXPECT_EQ(other.selection().site(), window_.selection().site());
  EXPECT_EQ(other.notice()->text(), QString());
}

// Words that are not what a view begins with.
constexpr const char* kStates[] = {"view=timeline&by=site&content=program",
                                   "view=timeline&by=category&content=device",
                                   "view=map&page=time",
                                   "view=flame&page=bottom-up&content=peak",
                                   "view=flame&page=flame&content=count",
                                   "view=fragmentation&page=failures",
                                   "view=whatif&page=without&by=category",
                                   "view=diff&page=icicle&by=layer",
                                   "view=flame&by=allocators&frames=own&zoom=Append;Train",
                                   "view=flame&page=bottom-up&frames=all",
                                   "view=diff&page=icicle&before=0.001s&zoom=main",
                                   "view=source&file=train.cc"};

TEST_F(PlacesTest, LinksSayWhatAViewShows) {
  QStringList problems;
  for (const char* fragment : kStates) {
    MainWindow other(MainWindow::Settings::kIgnored);
    log_ = testing::WriteDemoLog(directory_, {.steps = 4});
    other.show();
    other.Open(log_ + QLatin1Char('#') + QString::fromUtf8(fragment));
    other.WaitUntilSettled();
    EXPECT_EQ(other.notice()->text(), QString()) << fragment;
    ViewState asked = ParseLink(QString::fromUtf8(fragment), &problems).state;
    const ViewState shown = other.page(other.view())->State();
    if (!asked.file.isEmpty() && shown.file.endsWith(asked.file)) asked.file = shown.file;
    EXPECT_EQ(RefusedWords(asked, shown), QStringList()) << fragment;
    // The copied link has the same words.
    other.places()->AskHere([&](const QString& here) {
      EXPECT_EQ(ParseLink(here, &problems).state, shown) << here.toStdString();
    });
    other.WaitUntilSettled();
    // The next link of the log leaves what it does not name.
    other.places()->Go(QStringLiteral("step=1"));
    other.WaitUntilSettled();
    EXPECT_EQ(other.page(other.view())->State(), shown) << fragment;
  }
  EXPECT_TRUE(problems.isEmpty()) << problems.join(u'\n').toStdString();
}

TEST_F(PlacesTest, WordsThatAViewDoesNotKnowAreSaid) {
  for (const char* view :
       {"timeline", "flame", "fragmentation", "whatif", "diff", "source", "map"}) {
    OpenAt(qPrintable(QStringLiteral("view=%1").arg(QLatin1String(view))));
    const ViewState before = window_.page(window_.view())->State();
    window_.places()->Go(QStringLiteral("page=gold&by=gold&content=gold&file=gold&step=2"));
    window_.WaitUntilSettled();
    EXPECT_EQ(window_.page(window_.view())->State(), before) << view;
    const QString said = window_.notice()->text();
    for (const char* word : {"page cannot", "by cannot", "content cannot", "file gold"})
      EXPECT_TRUE(said.contains(QLatin1String(word))) << view << ": " << said.toStdString();
  }
}

TEST_F(PlacesTest, ALinkHoldsTheZoomOfCallSites) {
  OpenAt("view=flame&zoom=Append;Train");
  EXPECT_EQ(window_.selection().flame_path(),
            QStringList({QStringLiteral("Append"), QStringLiteral("Train")}));
}

TEST_F(PlacesTest, ALinkNamesTheOtherLogOfAComparison) {
  const QTemporaryDir folder;
  const QString other = testing::WriteDemoLog(folder, {.steps = 3});
  OpenAt("view=diff");
  window_.places()->Go(QStringLiteral("view=diff&with=") + other);
  window_.WaitUntilSettled();
  const auto* diff = window_.findChild<DiffView*>();
  EXPECT_EQ(window_.notice()->text(), QString());
  EXPECT_EQ(diff->State().with, other);
  EXPECT_TRUE(diff->Verdict().contains(QStringLiteral("demo.mprof, 3 steps")))
      << qPrintable(diff->Verdict());
  // A note of two moments leads back from it.
  window_.places()->Go(QStringLiteral("view=diff&before=0.001s"));
  window_.WaitUntilSettled();
  EXPECT_EQ(diff->State().with, QString());
  EXPECT_EQ(diff->State().before, 1'000'000u);
}

// A link may be a stranger's: it starts no ssh, and reads no device.
TEST_F(PlacesTest, ALinkComparesWithFilesOfThisMachineAlone) {
  OpenAt("view=diff");
  const auto* diff = window_.findChild<DiffView*>();
  const QString before = diff->Verdict();
  for (const char* with : {"ssh://host/run.mprof", "user@host:run.mprof", "/dev/zero"}) {
    window_.places()->Go(QStringLiteral("view=diff&with=") + QLatin1String(with));
    window_.WaitUntilSettled();
    EXPECT_EQ(diff->State().with, QString()) << with;
    EXPECT_EQ(diff->Verdict(), before) << with;
    EXPECT_TRUE(window_.notice()->text().contains(QStringLiteral("with cannot be"))) << with;
  }
}

TEST_F(PlacesTest, NotesLeadBackToTheirPlace) {
  OpenAt("view=leaks&step=5&filter=append");
  const analysis::TimeNs then = window_.selection().instant();
  auto* menu = window_.findChild<NotesMenu*>();
  ASSERT_NE(menu, nullptr);
  menu->Add(QStringLiteral("here & there"));
  window_.WaitUntilSettled();
  EXPECT_TRUE(window_.notice()->text().contains(QStringLiteral("demo.mprof.notes.json")));
  window_.selection().SetFilter({});
  window_.selection().SetInstant(Start());
  window_.ShowView(ViewKind::kFlame);
  emit menu->aboutToShow();
  ASSERT_EQ(menu->actions().size(), 4);  // two, a line, the note
  EXPECT_EQ(menu->actions().back()->text(), QStringLiteral("here && there"));
  menu->actions().back()->trigger();
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.view(), ViewKind::kLeaks);
  EXPECT_EQ(window_.selection().instant(), then);
  EXPECT_EQ(window_.selection().filter().text, "append");
  NotesDialog dialog(log_);
  ASSERT_EQ(dialog.table()->rowCount(), 1);
  dialog.table()->item(0, 0)->setText(QStringLiteral("changed"));
  EXPECT_EQ(NotesFile(log_).Read()->front().text, QStringLiteral("changed"));
  dialog.table()->item(0, 0)->setText(QString());
  EXPECT_EQ(dialog.table()->item(0, 0)->text(), QStringLiteral("changed")) << "not removed";
  dialog.table()->setCurrentCell(0, 0);
  dialog.RemoveCurrent();
  EXPECT_EQ(dialog.table()->rowCount(), 0);
  EXPECT_TRUE(NotesFile(log_).Read()->isEmpty());
}

TEST_F(PlacesTest, NotesThatCannotBeReadAreSaid) {
  OpenAt("view=timeline");
  WriteFile(QStringLiteral("demo.mprof.notes.json"), "nonsense");
  auto* menu = window_.findChild<NotesMenu*>();
  menu->Add(QStringLiteral("x"));
  window_.WaitUntilSettled();
  EXPECT_TRUE(window_.notice()->text().contains(QStringLiteral("is no file of notes")));
  menu->Edit();
  EXPECT_EQ(window_.findChild<NotesDialog*>(), nullptr);
  emit menu->aboutToShow();
  ASSERT_EQ(menu->actions().size(), 4);
  EXPECT_FALSE(menu->actions().back()->isEnabled());
}

TEST_F(PlacesTest, ALogOpensWhereItWasLeft) {
  QCoreApplication::setOrganizationName(QStringLiteral("memprof-test"));
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, directory_.path());
  QSettings().clear();
  const QString log = testing::WriteDemoLog(directory_, {.steps = 8});
  const auto open = [&](const QString& name, auto look) {
    MainWindow window(MainWindow::Settings::kKept);
    window.show();
    window.Open(name);
    window.WaitUntilSettled();
    look(window);
    window.close();
  };
  analysis::TimeNs left = 0;
  open(log, [&](MainWindow& window) {
    EXPECT_EQ(window.view(), ViewKind::kTimeline);
    window.ShowView(ViewKind::kWhatIf);
    static_cast<WhatIfView*>(window.page(ViewKind::kWhatIf))->ShowGone();
    left = window.document().session()->steps()[3].begin;
    window.selection().SetInstant(left);
  });
  open(log, [&](MainWindow& window) {
    EXPECT_EQ(window.view(), ViewKind::kWhatIf);
    EXPECT_EQ(window.page(window.view())->State().page, QStringLiteral("without"));
    EXPECT_EQ(window.selection().instant(), left);
  });
  // A link says more than where the log was left.
  open(log + QStringLiteral("#view=leaks"), [&](MainWindow& window) {
    EXPECT_EQ(window.view(), ViewKind::kLeaks);
    EXPECT_NE(window.selection().instant(), left);
  });
  QSettings().setValue(QStringLiteral("window/reopen"), false);
  open(log, [&](MainWindow& window) { EXPECT_EQ(window.view(), ViewKind::kTimeline); });
  QSettings().setValue(QStringLiteral("window/reopen"), true);
  // A log that has changed is a new one.
  testing::WriteDemoLog(directory_, {.steps = 9});
  open(log, [&](MainWindow& window) { EXPECT_EQ(window.view(), ViewKind::kTimeline); });
}

TEST_F(PlacesTest, PicturesSayWhatTheyShow) {
  OpenAt("step=5&window=step2-step8&filter=append&least=1KiB");
  const QString caption = window_.Caption();
  for (const char* part : {"demo.mprof · device 0 · at ", ", step 5 · from ",
                           "only: 'append', at "
                           "least 1.00 KiB · memprof"})
    EXPECT_TRUE(caption.contains(QString::fromUtf8(part))) << caption.toStdString();
  const QString with = directory_.filePath(QStringLiteral("with.png")),
                without = directory_.filePath(QStringLiteral("without.png")),
                drawing = directory_.filePath(QStringLiteral("with.svg"));
  ASSERT_EQ(window_.Export(with), QString());
  ASSERT_EQ(window_.Export(drawing), QString());
  QAction* captions = nullptr;
  for (QAction* action : window_.findChildren<QAction*>())
    if (action->text().contains(QStringLiteral("aptions under"))) captions = action;
  ASSERT_NE(captions, nullptr);
  captions->trigger();
  ASSERT_EQ(window_.Export(without), QString());
  const QImage tall(with), plain(without);
  EXPECT_EQ(tall.width(), plain.width());
  ASSERT_GT(tall.height(), plain.height() + 10);
  EXPECT_EQ(tall.copy(plain.rect()), plain);
  EXPECT_GT(testing::Colors(tall.copy(0, plain.height(), tall.width(), 40)), 1);
  QFile svg(drawing);
  ASSERT_TRUE(svg.open(QIODevice::ReadOnly));
  EXPECT_TRUE(svg.readAll().contains("demo.mprof"));
}

}  // namespace
}  // namespace memprof::viewer
